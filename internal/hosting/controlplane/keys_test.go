package controlplane

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// TestKeysAreNotMadeAgain: a root of trust that is lost or changed stalls the control plane, is neither made nor used, and
// what runs goes on with the one that it was made with. When the right one is back, all is well.
func TestKeysAreNotMadeAgain(t *testing.T) {
	p := newPlane(t)
	operatortest.Converge(t, p.world())
	good := p.secret(t)
	cp, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, root := range cp.Status.Trust {
		names = append(names, root.Name)
	}
	if diff := cmp.Diff([]string{"ca", "encryption", "front-proxy-ca", "sa"}, names); diff != "" {
		t.Fatalf("the status has fingerprints of (-want +got):\n%s", diff)
	}
	for name, tc := range lostKeys(t, p, good.Data) {
		t.Run(name, func(t *testing.T) {
			p.put(t, tc.data)
			operatortest.Converge(t, p.until(func(cp *v1alpha1.ControlPlane) bool {
				return apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionStalled)
			}))
			cp, err := p.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionKeysReady)
			for _, want := range []string{tc.names, cp.KeysSecret(), "put the Secret", "from a backup"} {
				if !strings.Contains(found.Message, want) {
					t.Errorf("the message does not say %q: %s", want, found.Message)
				}
			}
			if found.Reason != tc.reason || found.Status != metav1.ConditionFalse {
				t.Errorf("want %s, got %s", tc.reason, found.Reason)
			}
			if left := p.find(t); (left == nil) != (tc.data == nil) || left != nil && !maps.EqualFunc(left.Data, tc.data, bytes.Equal) {
				t.Error("the Secret was written")
			}
			if !p.runs(good.Data) || len(p.workloads[p.uid].trusted) != 1 {
				t.Error("what runs has other keys")
			}
			p.put(t, good.Data)
			operatortest.Converge(t, p.world())
			if !p.runs(good.Data) || len(p.workloads[p.uid].trusted) != 1 {
				t.Error("with the right keys back, other keys run")
			}
		})
	}
	t.Run("Delete", func(t *testing.T) { // without its keys, it goes all the same
		p.put(t, nil)
		deletion := p.deletion()
		if err := deletion.Do(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := p.world()
		w.Done = deletion.Done
		operatortest.Converge(t, w)
	})
}

// lost is what became of the Secret of keys.
type lost struct {
	data   map[string][]byte // nil for no Secret
	reason string
	names  string // what the message has
}

// lostKeys are all the ways in which keys are lost or changed.
func lostKeys(t *testing.T, p *plane, good map[string][]byte) map[string]lost {
	t.Helper()
	other := otherKeys(t, p)
	without := func(files ...string) map[string][]byte {
		data := maps.Clone(good)
		maps.DeleteFunc(data, func(name string, _ []byte) bool { return slices.Contains(files, name) })
		return data
	}
	with := func(files ...string) map[string][]byte {
		data := maps.Clone(good)
		for _, name := range files {
			data[name] = other[name]
		}
		return data
	}
	return map[string]lost{
		"NoSecret":         {nil, v1alpha1.ReasonKeysMissing, "is gone"},
		"Empty":            {map[string][]byte{}, v1alpha1.ReasonKeysMissing, `"ca"`},
		"NoAuthority":      {without("ca.crt", "ca.key"), v1alpha1.ReasonKeysMissing, `"ca"`},
		"NoProxyAuthority": {without("front-proxy-ca.crt", "front-proxy-ca.key", "front-proxy-client.crt", "front-proxy-client.key"), v1alpha1.ReasonKeysMissing, `"front-proxy-ca"`},
		"NoTokenKey":       {without("sa.key", "sa.pub"), v1alpha1.ReasonKeysMissing, `"sa"`},
		"NoEncryptionKey":  {without(encryptionKey), v1alpha1.ReasonKeysMissing, `"encryption"`},
		"CutEncryptionKey": {func() map[string][]byte {
			data := maps.Clone(good)
			data[encryptionKey] = data[encryptionKey][:16]
			return data
		}(), v1alpha1.ReasonKeysMissing, `"encryption"`},
		"OtherAuthority":     {with("ca.crt", "ca.key"), v1alpha1.ReasonKeysForeign, `"ca"`},
		"OtherTokenKey":      {with("sa.key", "sa.pub"), v1alpha1.ReasonKeysForeign, `"sa"`},
		"OtherEncryptionKey": {with(encryptionKey), v1alpha1.ReasonKeysForeign, `"encryption"`},
		"AllOther":           {other, v1alpha1.ReasonKeysForeign, `"ca"`},
	}
}

// TestKeysOfAnEarlierVersion: a control plane whose status has no fingerprints gets those of the keys that it has, and none
// are made for one that had some.
func TestKeysOfAnEarlierVersion(t *testing.T) {
	p := newPlane(t)
	operatortest.Converge(t, p.world())
	forget := func() {
		t.Helper()
		if err := p.client.Status().Patch(t.Context(), p.object(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"trust":null}}`))); err != nil {
			t.Fatal(err)
		}
	}
	forget()
	operatortest.Converge(t, p.until(func(cp *v1alpha1.ControlPlane) bool { return ready(cp) && len(cp.Status.Trust) == 4 }))
	forget()
	p.put(t, nil)
	operatortest.Converge(t, p.until(func(cp *v1alpha1.ControlPlane) bool {
		found := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionKeysReady)
		return found.Reason == v1alpha1.ReasonKeysMissing
	}))
	if p.find(t) != nil {
		t.Error("keys were made")
	}
}

// until is the world of a plane that is done when its status is as wanted.
func (p *plane) until(done func(*v1alpha1.ControlPlane) bool) operatortest.World {
	w := p.world()
	w.Done = func(ctx context.Context) (bool, error) {
		cp, err := p.get(ctx)
		return err == nil && done(cp), err
	}
	return w
}

func (p *plane) object() *v1alpha1.ControlPlane {
	return &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}
}

// find returns the Secret of keys, or nil.
func (p *plane) find(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.key.Namespace, Name: "controlplane-" + p.uid}, secret)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func (p *plane) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := p.find(t)
	if secret == nil {
		t.Fatal("there are no keys")
	}
	return secret
}

// put makes the Secret of keys one with the data; none for nil.
func (p *plane) put(t *testing.T, data map[string][]byte) {
	t.Helper()
	if have := p.find(t); have != nil {
		if err := p.client.Delete(t.Context(), have); err != nil {
			t.Fatal(err)
		}
	}
	if data == nil {
		return
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: "controlplane-" + p.uid}, Data: data}
	if err := p.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// otherKeys are those of another control plane of the same description.
func otherKeys(t *testing.T, p *plane) map[string][]byte {
	t.Helper()
	set := pki.Set{
		Authorities: []pki.Authority{
			{Name: "ca", CommonName: "kubernetes-ca@" + p.uid, Lifetime: 24 * time.Hour},
			{Name: "front-proxy-ca", CommonName: "front-proxy-ca@" + p.uid, Lifetime: 24 * time.Hour},
		},
		SigningKeys: []string{"sa"},
	}
	made, _, err := pki.Issue(nil, set, nil, p.now)
	if err != nil {
		t.Fatal(err)
	}
	encryption, err := newEncryptionKey(false)
	if err != nil {
		t.Fatal(err)
	}
	return joinKeys(made, encryptionKeys{present: encryption})
}
