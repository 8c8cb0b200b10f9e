package hosted_test

import (
	"bytes"
	"context"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/clusters/provision/provisiontest"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// admin is the admin plane. The test takes the part of the reconciler of ControlPlane.
type admin struct {
	client.Client
	keys pki.Bundle
}

const holder = "kqueen.io/test"

func newAdmin(t *testing.T) *admin {
	t.Helper()
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "ca", Lifetime: 48 * time.Hour}},
		Leaves:      []pki.Leaf{{Name: "admin", Authority: "ca", CommonName: "admin", Usage: pki.Client, Lifetime: 24 * time.Hour}},
	}, nil, time.Now())
	if err != nil {
		t.Fatalf("issue keys: %v", err)
	}
	a := &admin{controlplanetest.Client(t), keys}
	for _, version := range []string{"v1.35.1", "v1.36.1", "v1.36.2"} {
		r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: version}, Spec: v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}}}
		if err := client.IgnoreAlreadyExists(a.Create(t.Context(), r)); err != nil {
			t.Fatalf("create release: %v", err)
		}
	}
	return a
}

// progress moves a ControlPlane by one step, as its reconciler would: finalizer, status; removal.
func (a *admin) progress(t *testing.T, ref provision.Ref) {
	t.Helper()
	if err := a.step(t.Context(), ref); err != nil {
		t.Fatalf("move the control plane: %v", err)
	}
}

func (a *admin) step(ctx context.Context, ref provision.Ref) error {
	cp := &v1alpha1.ControlPlane{}
	if err := a.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, cp); err != nil {
		return client.IgnoreNotFound(err)
	}
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: cp.KeysSecret()}, Data: a.keys}
	switch {
	case !cp.DeletionTimestamp.IsZero():
		if err := client.IgnoreNotFound(a.Delete(ctx, keys)); err != nil {
			return err
		}
		controllerutil.RemoveFinalizer(cp, holder)
		return a.Update(ctx, cp)
	case controllerutil.AddFinalizer(cp, holder):
		return a.Update(ctx, cp)
	case cp.Status.ObservedGeneration == cp.Generation:
		return nil
	}
	if err := client.IgnoreAlreadyExists(a.Create(ctx, keys)); err != nil {
		return err
	}
	cp.Status.ObservedGeneration, cp.Status.Version = cp.Generation, cp.Spec.Version
	cp.Status.Endpoint = &v1alpha1.ControlPlaneEndpoint{ServerName: "demo.test", Gateway: "192.0.2.1:6443", Address: "192.0.2.1", Port: 20001}
	apimeta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionInitialized, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonInitialized})
	apimeta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady})
	return a.Status().Update(ctx, cp)
}

// outside is every ControlPlane of a namespace with its resource version.
func (a *admin) outside(t *testing.T, namespace, _ string) any {
	t.Helper()
	list := &v1alpha1.ControlPlaneList{}
	if err := a.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatalf("list control planes: %v", err)
	}
	var all []string
	for i := range list.Items {
		all = append(all, list.Items[i].Name+" "+string(list.Items[i].UID)+" "+list.Items[i].ResourceVersion)
	}
	return all
}

func (a *admin) want(t *testing.T) provision.Desired {
	t.Helper()
	return provision.Desired{
		Target:  provision.Target{Ref: provision.Ref{UID: uuid.NewUUID(), Namespace: controlplanetest.Namespace(t, a), Name: "demo"}},
		Version: "v1.36.1",
	}
}

func subject(t *testing.T) provisiontest.Subject {
	a := newAdmin(t)
	var broken atomic.Bool
	secrets := interceptor.NewClient(controlplanetest.Client(t), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if err := c.Get(ctx, key, obj, opts...); err != nil {
				return err
			}
			if secret, ok := obj.(*corev1.Secret); ok && broken.Load() {
				secret.Data["admin.key"] = append([]byte("spoiled "), secret.Data["admin.key"]...)
			}
			return nil
		},
	})
	return provisiontest.Subject{
		Driver: hosted.New(hosted.Config{Client: a, Secrets: secrets, Taken: func() ([]hosted.Taken, error) {
			return []hosted.Taken{{Range: netip.MustParsePrefix("198.51.100.0/24"), As: "a network of the host"}}, nil
		}}),
		Want:     a.want,
		Progress: a.progress,
		Outside:  a.outside,
		Refused: map[string]provisiontest.Refusal{
			"EmptyVersion":   {Change: func(d *provision.Desired) { d.Version = "" }, Field: "spec.version"},
			"NoVersion":      {Change: func(d *provision.Desired) { d.Version = "latest" }, Field: "spec.version"},
			"Loopback":       {Change: func(d *provision.Desired) { d.Network.PodCIDR = "127.0.0.0/16" }, Field: "spec.network.podCIDR"},
			"HostNetwork":    {Change: func(d *provision.Desired) { d.Network.ServiceCIDR = "198.51.100.0/25" }, Field: "spec.network.serviceCIDR"},
			"UnknownVersion": {Change: func(d *provision.Desired) { d.Version = "v1.31.0" }, Field: "spec.version"},
			"Downgrade": {
				Have:   func(d *provision.Desired) { d.Version = "v1.36.2" },
				Change: func(d *provision.Desired) { d.Version = "v1.35.1" }, Field: "spec.version",
			},
			"SkippedMinor": {
				Have:   func(d *provision.Desired) { d.Version = "v1.34.1" },
				Change: func(d *provision.Desired) { d.Version = "v1.36.1" }, Field: "spec.version",
			},
		},
		Break:   func(*testing.T, provision.Ref) func() { broken.Store(true); return func() { broken.Store(false) } },
		Secrets: func(*testing.T, provision.Ref) [][]byte { return [][]byte{a.keys["admin.key"], []byte("PRIVATE KEY")} },
	}
}

func TestContract(t *testing.T) { provisiontest.Run(t, subject) }

// TestNewSettings: a change of the spec reaches the ControlPlane, and the cluster is not healthy until it was taken.
func TestNewSettings(t *testing.T) {
	a := newAdmin(t)
	d := hosted.New(hosted.Config{Client: a, Secrets: a})
	want := a.want(t)
	for range 3 {
		if err := d.Ensure(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		a.progress(t, want.Ref)
	}
	want.Version = "v1.36.2"
	want.Network.ExtraSANs = []string{"api.example.com"}
	if err := d.Ensure(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	o, err := d.Observe(t.Context(), want.Target)
	if err != nil || o.State != provision.Degraded || o.Version != "v1.36.1" {
		t.Errorf("want it to be on its way from v1.36.1, got %s at %s: %v", o.State, o.Version, err)
	}
	a.progress(t, want.Ref)
	o, err = d.Observe(t.Context(), want.Target)
	if err != nil || o.State != provision.Healthy || o.Version != "v1.36.2" {
		t.Errorf("want it to serve v1.36.2, got %s at %s: %v", o.State, o.Version, err)
	}
	if o.Endpoint != "https://192.0.2.1:6443" || !bytes.Contains(o.Kubeconfig, []byte("server: https://192.0.2.1:6443")) || !bytes.Contains(o.Kubeconfig, []byte("tls-server-name: demo.test")) {
		t.Error("the kubeconfig does not lead through the gateway")
	}
}

// TestKeysThatAreNotTaken: keys that the control plane does not use make no kubeconfig, which would take the place of the
// one that is good.
func TestKeysThatAreNotTaken(t *testing.T) {
	a := newAdmin(t)
	d := hosted.New(hosted.Config{Client: a, Secrets: a})
	want := a.want(t)
	for range 3 {
		if err := d.Ensure(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		a.progress(t, want.Ref)
	}
	cp := &v1alpha1.ControlPlane{}
	if err := a.Get(t.Context(), client.ObjectKey{Namespace: want.Namespace, Name: want.Name}, cp); err != nil {
		t.Fatal(err)
	}
	for _, reason := range []string{v1alpha1.ReasonKeysMissing, v1alpha1.ReasonKeysForeign} {
		apimeta.SetStatusCondition(&cp.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionKeysReady, Status: metav1.ConditionFalse, Reason: reason, Message: "put them back",
		})
		if err := a.Status().Update(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		if o, err := d.Observe(t.Context(), want.Target); err == nil || err.Error() != "put them back" {
			t.Errorf("%s: want what the control plane says, got %v and a kubeconfig of %d bytes", reason, err, len(o.Kubeconfig))
		}
	}
}

// TestCreatedByRestore: a control plane that is to be written first stands still from its creation, and no later Ensure stops it again.
func TestCreatedByRestore(t *testing.T) {
	a := newAdmin(t)
	d := hosted.New(hosted.Config{Client: a, Secrets: a})
	want := a.want(t)
	want.RestoreUID = "r1"
	stopped := func() string {
		t.Helper()
		if err := d.Ensure(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		cp := &v1alpha1.ControlPlane{}
		if err := a.Get(t.Context(), client.ObjectKey{Namespace: want.Namespace, Name: want.Name}, cp); err != nil {
			t.Fatal(err)
		}
		got := cp.Spec.StoppedFor
		cp.Spec.StoppedFor = ""
		if err := a.Update(t.Context(), cp); err != nil {
			t.Fatal(err)
		}
		return got
	}
	if first, then := stopped(), stopped(); first != "r1" || then != "" {
		t.Errorf("it stands still for %q, and for %q after it was started; want r1, and nothing", first, then)
	}
}

// TestForeignControlPlane: an object that was made by hand is named as what is in the way.
func TestForeignControlPlane(t *testing.T) {
	a := newAdmin(t)
	d := hosted.New(hosted.Config{Client: a, Secrets: a})
	want := a.want(t)
	foreign := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.1"}}
	if err := a.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	before := a.outside(t, want.Namespace, want.Name).([]string)
	err := d.Ensure(t.Context(), want)
	if err == nil || !strings.Contains(err.Error(), "does not belong to this cluster") {
		t.Errorf("want to be told what is in the way, got %v", err)
	}
	if gone, err := d.Delete(t.Context(), want.Target); err != nil || !gone {
		t.Errorf("delete beside a foreign control plane: %v, %v", gone, err)
	}
	if after := a.outside(t, want.Namespace, want.Name).([]string); after[0] != before[0] {
		t.Errorf("the foreign control plane was touched: %v, then %v", before, after)
	}
	if err := a.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); apierrors.IsNotFound(err) {
		t.Error("the foreign control plane was deleted")
	}
}

// TestDeleteReadsPastTheCache: a control plane that was created a moment ago is not in the cache yet, and does not outlive its
// cluster for that.
func TestDeleteReadsPastTheCache(t *testing.T) {
	a := newAdmin(t)
	want := a.want(t)
	cached := operatortest.Stale(controlplanetest.Client(t), &v1alpha1.ControlPlane{})
	d := hosted.New(hosted.Config{Client: cached, Secrets: a})
	if err := d.Ensure(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	a.progress(t, want.Ref) // which puts a finalizer on it
	for range 2 {
		if gone, err := d.Delete(t.Context(), want.Target); gone || err != nil {
			t.Fatalf("said of a control plane that is there: gone %v, %v", gone, err)
		}
	}
	a.progress(t, want.Ref)
	if gone, err := d.Delete(t.Context(), want.Target); !gone || err != nil {
		t.Errorf("said of a control plane that is not there: gone %v, %v", gone, err)
	}
}
