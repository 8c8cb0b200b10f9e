package rotation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// vault is what is stored of Secrets: by which key each is encrypted. Those of the API server are at the names of roots of trust.
type vault struct {
	mu      sync.Mutex
	secrets map[string]string // fingerprints of keys; empty for one that is not encrypted
	roots   map[string]string
	writes  string // the fingerprint of the key that writes
	wrong   []string
	// refuses has the API server write one of these no more.
	refuses string
}

const oldKey, newKey = "sha256:aaaaaaaaaaaaaaaa", "sha256:bbbbbbbbbbbbbbbb"

func newVault() *vault {
	return &vault{
		secrets: map[string]string{"shop/a": oldKey, "shop/b": oldKey, "system/plain": ""},
		roots:   map[string]string{"encryption": oldKey}, writes: oldKey,
	}
}

// turn is a step of the control plane, which can read no more what no key of its has encrypted.
func (v *vault) turn(step v1alpha1.RotationStep) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch step {
	case v1alpha1.StepTrust:
		v.roots = map[string]string{"encryption": oldKey, "next-encryption": newKey}
	case v1alpha1.StepSign:
		v.writes, v.roots = newKey, map[string]string{"encryption": oldKey, "next-encryption": newKey}
	case v1alpha1.StepServe:
		v.writes, v.roots = newKey, map[string]string{"encryption": newKey, "old-encryption": oldKey}
	case v1alpha1.StepRemove:
		v.roots = map[string]string{"encryption": newKey}
	}
	readable := slices.Collect(maps.Values(v.roots))
	for name, key := range v.secrets {
		if key != "" && !slices.Contains(readable, key) {
			v.wrong = append(v.wrong, "Secret "+name+" cannot be read any more")
		}
	}
}

func (v *vault) stored() map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.secrets)
}

func (v *vault) put(name, key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.secrets[name] = key
}

func (v *vault) rewriter(inj *operatortest.Injector) func(context.Context, *v1alpha1.Cluster) (func(context.Context, string, string) error, error) {
	return func(context.Context, *v1alpha1.Cluster) (func(context.Context, string, string) error, error) {
		return func(_ context.Context, namespace, name string) error {
			return inj.Call("Rewrite "+name, func() error {
				v.mu.Lock()
				defer v.mu.Unlock()
				if v.refuses == name {
					return errors.New("admission webhook \"x\" denied the request")
				}
				v.secrets[namespace+"/"+name] = v.writes
				return nil
			})
		}, nil
	}
}

// vaultLines lead to the keyspace.
type vaultLines struct {
	*vault
	inj *operatortest.Injector
}

func (v vaultLines) Below(_ context.Context, folder string) iter.Seq2[datastore.Entry, error] {
	all, err := operatortest.ReadValue(v.inj, "state.Below", func() (map[string]string, error) { return v.stored(), nil })
	return entries(folder, all, err)
}

func entries(folder string, all map[string]string, err error) iter.Seq2[datastore.Entry, error] {
	return func(yield func(datastore.Entry, error) bool) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			value := "k8s\x00plain"
			if key := all[name]; key == oldKey {
				value = "k8s:enc:secretbox:v1:key1:x"
			} else if key != "" {
				value = "k8s:enc:secretbox:v1:key-" + strings.TrimPrefix(key, "sha256:") + ":x"
			}
			if !yield(datastore.Entry{Key: folder + name, Value: []byte(value)}, nil) {
				return
			}
		}
		if err != nil {
			yield(datastore.Entry{}, err)
		}
	}
}

// TestEncryptionKey: all is written again before the rotation waits, what needs the old key is counted, and it goes when nothing has it.
func TestEncryptionKey(t *testing.T) {
	p := newPlace(t)
	p.refuses = "b"
	o := p.settle(t, p.rotation(t, "first", v1alpha1.CredentialEncryptionKey, false))
	if c := condition(o, v1alpha1.ConditionNewSigns); c.Reason != v1alpha1.ReasonRotationFailed || !strings.Contains(c.Message, "write Secret shop/b again: admission webhook") || o.Status.PendingSecrets != 1 {
		t.Errorf("with a Secret that cannot be written: %s: %s; %d", c.Reason, c.Message, o.Status.PendingSecrets)
	}
	p.refuses = ""
	then := metav1.NewTime(p.now.Add(-time.Hour))
	b := &v1alpha1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "before"}, Spec: v1alpha1.BackupSpec{ClusterName: "demo"}}
	if err := p.client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.Status.ClusterUID, b.Status.TakenTime, b.Status.Digest = o.Status.ClusterUID, &then, "sha256:dd"
	if err := p.client.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	p.now = p.now.Add(time.Hour)
	o = p.settle(t, o)
	want := map[string]string{"shop/a": newKey, "shop/b": newKey, "system/plain": newKey}
	if diff := cmp.Diff(want, p.stored()); diff != "" {
		t.Errorf("what is stored (-want +got):\n%s", diff)
	}
	waits := condition(o, v1alpha1.ConditionNewServes)
	if o.Status.Step != v1alpha1.StepServe || waits.Reason != v1alpha1.ReasonRotationAwaitsFinish || o.Status.OlderBackups != 1 || !strings.Contains(waits.Message, "1 backup taken before") {
		t.Errorf("step %s, %s: %s", o.Status.Step, waits.Reason, waits.Message)
	}
	if got := fmt.Sprint(o.Status.OldFingerprint, o.Status.NewFingerprint, o.Status.PendingSecrets); got != fmt.Sprint(oldKey, newKey, 0) {
		t.Error(got)
	}
	p.put("shop/restored", oldKey)
	o.Spec.Finish = true
	if err := p.client.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want["shop/restored"] = newKey
	if o = p.settle(t, o); !ended(o) || len(p.vault.wrong) > 0 {
		t.Errorf("ended: %t; %v", ended(o), p.vault.wrong)
	}
	if diff := cmp.Diff(want, p.stored()); diff != "" {
		t.Errorf("what is stored at the end (-want +got):\n%s", diff)
	}
}

// TestEncryptionKeyDeletedHalfWay: the next one goes on where the first one was.
func TestEncryptionKeyDeletedHalfWay(t *testing.T) {
	p := newPlace(t)
	o := p.settle(t, p.rotation(t, "first", v1alpha1.CredentialEncryptionKey, false))
	if err := p.client.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, err := p.reconciler(nil).Reconcile(t.Context(), p.world(o).Request); err != nil {
		t.Fatal(err)
	}
	if next := p.settle(t, p.rotation(t, "next", v1alpha1.CredentialEncryptionKey, true)); !ended(next) || next.Status.OldFingerprint != oldKey || next.Status.NewFingerprint != newKey || len(p.vault.wrong) > 0 {
		t.Errorf("it has not ended: %v, %v", next.Status, p.vault.wrong)
	}
}

func TestBehindKey(t *testing.T) {
	all := map[string]string{"shop/a": oldKey, "shop/b": newKey, "shop/c": ""}
	broken := errors.New("compacted")
	for name, tc := range map[string]struct {
		most  int
		err   error
		names []string
		count int
	}{
		"All":   {9, nil, []string{"shop/a", "shop/c"}, 2},
		"First": {1, nil, []string{"shop/a"}, 2},
		"Error": {9, broken, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			names, count, err := behindKey(entries(secretsFolder, all, tc.err), "key-bbbbbbbbbbbbbbbb", tc.most)
			if diff := cmp.Diff(tc.names, names); diff != "" || count != tc.count || !errors.Is(err, tc.err) {
				t.Errorf("%d, %v\n%s", count, err, diff)
			}
		})
	}
}
