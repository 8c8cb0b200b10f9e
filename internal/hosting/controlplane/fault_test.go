package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// plane is one ControlPlane in a namespace of its own, and the outside that it lives in.
type plane struct {
	*outside
	client client.WithWatch
	key    client.ObjectKey
	uid    string
	now    time.Time
	issuer *TokenIssuer
	sizes  Sizes
	// allowed is what API servers of all organizations may call.
	allowed []egress.Destination
}

func newPlane(t *testing.T) *plane {
	t.Helper()
	return newPlaneIn(t, controlplanetest.Namespace(t, controlplanetest.Client(t)))
}

func newPlaneIn(t *testing.T, namespace string) *plane {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &plane{outside: newOutside(), client: c, key: client.ObjectKey{Namespace: namespace, Name: "demo"}, now: time.Now(), issuer: description(t).Issuer}
	cp := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.2"}}
	if err := c.Create(t.Context(), cp); err != nil {
		t.Fatalf("create the control plane: %v", err)
	}
	p.uid = string(cp.UID)
	p.forgetRights(t)
	return p
}

func (p *plane) world() operatortest.World {
	return operatortest.World{
		Request:    reconcile.Request{NamespacedName: p.key},
		Reconciler: p.reconciler,
		Object:     func(ctx context.Context) (operator.Object, error) { return p.get(ctx) },
		Step:       func(context.Context) (bool, error) { return p.step(), nil },
		Done: func(ctx context.Context) (bool, error) {
			cp, err := p.get(ctx)
			return err == nil && ready(cp), err
		},
		Snapshot: p.snapshot,
	}
}

// reconciler is a new process.
func (p *plane) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	l := lines{p.outside, inj}
	c := inj.Client(p.client)
	return New(Config{
		Client: c, Secrets: c, Stores: storeLines{l}, Gates: l.gates(), Releases: releaseLines{l}, Runner: l, Ask: l.ask,
		Issuer: p.issuer, Ended: func(string) []string { return nil }, Tenants: tenantLines{c},
		Domain: "kqueen.test", GatewayAddress: "192.0.2.1:6443",
		AdvertiseAddress: netip.MustParseAddr("192.0.2.1"), Sizes: p.sizes, Now: func() time.Time { return p.now },
		EgressAllowed: p.allowed, EgressClosed: []netip.Prefix{netip.MustParsePrefix("10.223.0.0/16")},
	})
}

// releaseLines are the programs on disk.
type releaseLines struct{ lines }

func (releaseLines) Ensure(context.Context, release.Version, release.Source, func(release.Step)) (release.Binaries, error) {
	return release.Binaries{}, nil
}

func (p *plane) get(ctx context.Context) (*v1alpha1.ControlPlane, error) {
	cp := &v1alpha1.ControlPlane{}
	return cp, p.client.Get(ctx, p.key, cp)
}

// ready says whether the status speaks of the present spec and is good.
func ready(cp *v1alpha1.ControlPlane) bool {
	access := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionAccessReady)
	return cp.Status.ObservedGeneration == cp.Generation && apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionReady) &&
		access.Reason != v1alpha1.ReasonAccessUnchecked
}

// end is the end state of a plane, without names and times of its own.
type end struct {
	Secrets    []string // and their keys
	KeysInUse  bool     // what runs has the keys that are in the Secret
	Trusted    int      // how many authorities ever ran: a second one would cut off every node
	Keyspaces  []string
	Gate       []string // who may pass the store gate
	Workloads  []string // with their programs and arguments
	Rights     []string // in the cluster; not looked at when the cluster is gone
	Conditions []string
	Status     v1alpha1.ControlPlaneStatus
	Finalizers []string
}

func (p *plane) snapshot(ctx context.Context) (any, error) {
	own := strings.NewReplacer(p.uid, "UID", p.key.Namespace, "NAMESPACE")
	var e end
	if len(p.early) > 0 {
		return nil, fmt.Errorf("too early: %v", p.early)
	}
	secrets := &corev1.SecretList{}
	if err := p.client.List(ctx, secrets, client.InNamespace(p.key.Namespace)); err != nil {
		return nil, err
	}
	for i := range secrets.Items {
		s := &secrets.Items[i]
		var keys []string
		for k := range s.Data {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		e.Secrets = append(e.Secrets, own.Replace(s.Name)+": "+strings.Join(keys, " "))
		e.KeysInUse = p.runs(s.Data)
	}
	for k, n := range p.keyspaces {
		e.Keyspaces = append(e.Keyspaces, own.Replace(fmt.Sprint(k.Prefix(), " ", n, " readOnly=", p.readOnly[k])))
	}
	for uid, tenant := range p.gate {
		due, err := pki.RenewAt(pki.Bundle{"client.crt": tenant.Certificate}, pki.Set{Leaves: []pki.Leaf{{Name: "client"}}})
		e.Gate = append(e.Gate, own.Replace(fmt.Sprint(uid, " of ", tenant.Group, " due=", !due.After(p.now), " ", err)))
	}
	for id, w := range p.workloads {
		for _, c := range w.Components {
			e.Workloads = append(e.Workloads, own.Replace(fmt.Sprint(id, " ready=", w.ready, " ", c.Program.Name, " ", c.Args)))
		}
		e.Trusted = len(w.trusted)
	}
	cp, err := p.get(ctx)
	if apierrors.IsNotFound(err) {
		return e, nil
	}
	if e.Rights, err = p.rights(ctx); err != nil {
		return nil, err
	}
	for _, c := range cp.Status.Conditions {
		e.Conditions = append(e.Conditions, own.Replace(fmt.Sprint(c.Type, "=", c.Status, " ", c.Reason, " ", c.Message, " of ", c.ObservedGeneration)))
	}
	slices.Sort(e.Conditions)
	e.Status, e.Finalizers = cp.Status, cp.Finalizers
	e.Status.Conditions, e.Status.RenewalTime, e.Status.AuthorityExpirationTime = nil, nil, nil
	for i := range e.Status.Trust {
		e.Status.Trust[i].Fingerprint = "" // of keys that are random
	}
	e.Status.Endpoint.ServerName = own.Replace(e.Status.Endpoint.ServerName)
	return e, err
}

// runs says whether the workload's files are those of the Secret.
func (p *plane) runs(secret map[string][]byte) bool {
	w := p.workloads[p.uid]
	if w == nil {
		return false
	}
	for name, data := range secret {
		if !atrest.Is(name) && !bytes.Equal(w.Files[name].Data, data) {
			return false
		}
	}
	return len(secret) > 0
}

func (p *plane) deletion() *operatortest.Act {
	return &operatortest.Act{
		Do: func(ctx context.Context) error {
			return client.IgnoreNotFound(p.client.Delete(ctx, &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}}))
		},
		Done: func(ctx context.Context) (bool, error) {
			_, err := p.get(ctx)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}

func (p *plane) upgrade() operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			return p.client.Patch(ctx, &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}},
				client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"version":"v1.36.3"}}`)))
		},
		Done: func(ctx context.Context) (bool, error) {
			cp, err := p.get(ctx)
			return err == nil && ready(cp) && cp.Status.Version == "v1.36.3", err
		},
	}
}

// stop has the components stand still, and start lets them run again.
func (p *plane) stop() operatortest.Act { return p.standStill("a-restore", false) }

// onlyReads has all stand still but the API server.
func (p *plane) onlyReads() operatortest.Act { return p.standStill("a-restore", true) }

func (p *plane) start() operatortest.Act { return p.standStill("", false) }

func (p *plane) standStill(stoppedFor string, readOnly bool) operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			return p.client.Patch(ctx, &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}},
				client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"stoppedFor":%q,"readOnly":%t}}`, stoppedFor, readOnly)))
		},
		Done: func(ctx context.Context) (bool, error) {
			cp, err := p.get(ctx)
			done := err == nil && cp.Status.StoppedFor == stoppedFor && cp.Status.ObservedGeneration == cp.Generation
			return done && (ready(cp) || stoppedFor != ""), err
		},
	}
}

// sleep has the components end, or run again.
func (p *plane) sleep(asleep bool) operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			return p.client.Patch(ctx, &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}},
				client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"asleep":%t}}`, asleep)))
		},
		Done: func(ctx context.Context) (bool, error) {
			cp, err := p.get(ctx)
			if err != nil || cp.Status.ObservedGeneration != cp.Generation {
				return false, err
			}
			if asleep && cp.Status.Asleep && len(p.workloads[p.uid].Components) != 0 {
				return false, errors.New("it is asleep, and its components run")
			}
			return cp.Status.Asleep == asleep && (asleep || ready(cp)), nil
		},
	}
}

// renewal lets most of a year pass.
func (p *plane) renewal() operatortest.Act {
	return operatortest.Act{
		Do: func(context.Context) error { p.now = p.now.Add(300 * 24 * time.Hour); return nil },
		Done: func(ctx context.Context) (bool, error) {
			cp, err := p.get(ctx)
			if err != nil || !ready(cp) || !cp.Status.RenewalTime.After(p.now) {
				return false, err
			}
			secret := &corev1.Secret{}
			err = p.client.Get(ctx, client.ObjectKey{Namespace: p.key.Namespace, Name: cp.KeysSecret()}, secret)
			return err == nil && p.runs(secret.Data), err
		},
	}
}

func TestControlPlaneUnderFaults(t *testing.T) {
	tests := map[string]func(t *testing.T, p *plane) operatortest.World{
		"Create": func(_ *testing.T, p *plane) operatortest.World { return p.world() },
		"Delete": func(t *testing.T, p *plane) operatortest.World {
			return operatortest.After(t, p.world(), *p.deletion())
		},
		"Upgrade": func(t *testing.T, p *plane) operatortest.World { return operatortest.After(t, p.world(), p.upgrade()) },
		"Renew":   func(t *testing.T, p *plane) operatortest.World { return operatortest.After(t, p.world(), p.renewal()) },
		"Stop":    func(t *testing.T, p *plane) operatortest.World { return operatortest.After(t, p.world(), p.stop()) },
		"StopAndStart": func(t *testing.T, p *plane) operatortest.World {
			return operatortest.After(t, operatortest.After(t, p.world(), p.stop()), p.start())
		},
		"ReadOnly": func(t *testing.T, p *plane) operatortest.World {
			return operatortest.After(t, p.world(), p.onlyReads())
		},
		"ReadOnlyAndStart": func(t *testing.T, p *plane) operatortest.World {
			return operatortest.After(t, operatortest.After(t, p.world(), p.onlyReads()), p.start())
		},
		"Sleep": func(t *testing.T, p *plane) operatortest.World {
			return operatortest.After(t, p.world(), p.sleep(true))
		},
		"SleepAndWake": func(t *testing.T, p *plane) operatortest.World {
			return operatortest.After(t, operatortest.After(t, p.world(), p.sleep(true)), p.sleep(false))
		},
		"DeleteHalfMade": func(_ *testing.T, p *plane) operatortest.World { w := p.world(); w.Then = p.deletion(); return w },
	}
	for name, world := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.Run(t, func(t *testing.T) operatortest.World { return world(t, newPlane(t)) })
		})
	}
}

// TestStopped: a control plane that stands still runs nothing, keeps its keyspace and its port, and has the same port when it runs again.
func TestStopped(t *testing.T) {
	p := newPlane(t)
	made := p.world()
	operatortest.Converge(t, made)
	before, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopped := operatortest.After(t, made, p.stop())
	operatortest.Converge(t, stopped)
	if len(p.workloads[p.uid].Components) != 0 || len(p.keyspaces) != 1 || len(p.gate) != 1 {
		t.Errorf("%d programs, %d keyspaces, %d tenants of the gate", len(p.workloads[p.uid].Components), len(p.keyspaces), len(p.gate))
	}
	operatortest.Converge(t, operatortest.After(t, stopped, p.start()))
	after, err := p.get(t.Context())
	if err != nil || len(p.workloads[p.uid].Components) != 3 {
		t.Fatalf("%d programs: %v", len(p.workloads[p.uid].Components), err)
	}
	if diff := cmp.Diff(before.Status.Endpoint, after.Status.Endpoint); diff != "" {
		t.Error(diff)
	}
}

// TestReadOnly: of a control plane that is only read the API server goes on, which was not started again, and its keyspace takes no write before
// the status says so. One that sleeps, or is to have another version, stands still as a whole.
func TestReadOnly(t *testing.T) {
	p := newPlane(t)
	made := p.world()
	operatortest.Converge(t, made)
	look := func(want []string, readOnly bool) {
		t.Helper()
		var run []string
		for _, c := range p.workloads[p.uid].Components {
			run = append(run, c.Name)
		}
		if diff := cmp.Diff(want, run); diff != "" {
			t.Error(diff)
		}
		for space, is := range p.readOnly {
			if is != readOnly {
				t.Errorf("%s can only be read: %t", space.UID(), is)
			}
		}
	}
	held := operatortest.After(t, made, p.onlyReads())
	operatortest.Converge(t, held)
	look([]string{APIServer}, true)
	again := operatortest.After(t, held, p.start())
	operatortest.Converge(t, again)
	look([]string{APIServer, "kube-controller-manager", "kube-scheduler"}, false)

	asleep := operatortest.After(t, again, p.sleep(true))
	operatortest.Converge(t, asleep)
	operatortest.Converge(t, operatortest.After(t, asleep, p.onlyReads()))
	look(nil, true)
}

// TestReadsOn: an API server reads on where it is the one that is wanted.
func TestReadsOn(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*v1alpha1.ControlPlane)
		want bool
	}{
		"as it is":         {func(*v1alpha1.ControlPlane) {}, true},
		"not stopped":      {func(cp *v1alpha1.ControlPlane) { cp.Spec.StoppedFor = "" }, false},
		"stopped wholly":   {func(cp *v1alpha1.ControlPlane) { cp.Spec.ReadOnly = false }, false},
		"another version":  {func(cp *v1alpha1.ControlPlane) { cp.Spec.Version = "v1.37.0" }, false},
		"emulates another": {func(cp *v1alpha1.ControlPlane) { cp.Spec.EmulatedVersion = "v1.35" }, false},
		"never ran":        {func(cp *v1alpha1.ControlPlane) { cp.Status.APIServerVersion = "" }, false},
		"is to sleep":      {func(cp *v1alpha1.ControlPlane) { cp.Spec.Asleep = true }, false},
		"has slept":        {func(cp *v1alpha1.ControlPlane) { cp.Status.Asleep = true }, false},
	} {
		cp := &v1alpha1.ControlPlane{
			Spec:   v1alpha1.ControlPlaneSpec{StoppedFor: "a-restore", ReadOnly: true, Version: "v1.36.3"},
			Status: v1alpha1.ControlPlaneStatus{APIServerVersion: "v1.36.3"},
		}
		if c.edit(cp); readsOn(cp) != c.want {
			t.Errorf("%s: %t", name, !c.want)
		}
	}
}

// TestControlPlaneEndState says in words what the runs under faults are compared with.
func TestControlPlaneEndState(t *testing.T) {
	p := newPlane(t)
	made := p.world()
	operatortest.Converge(t, made)
	got, err := made.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := got.(end)
	if len(e.Secrets) != 1 || !e.KeysInUse || e.Trusted != 1 || len(e.Keyspaces) != 1 || len(e.Workloads) != 3 {
		t.Errorf("want one Secret, in use, one keyspace and three programs, got %+v", e)
	}
	if d := cmp.Diff([]string{"UID of NAMESPACE due=false <nil>"}, e.Gate); d != "" {
		t.Errorf("who passes the store gate: -want +got\n%s", d)
	}
	if e.Status.Version != "v1.36.2" || e.Status.Endpoint == nil || len(e.Finalizers) != 1 {
		t.Errorf("want version, endpoint and finalizer, got %+v", e.Status)
	}
	gone := operatortest.After(t, made, *p.deletion())
	operatortest.Converge(t, gone)
	got, err = gone.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if e := got.(end); len(e.Secrets)+len(e.Keyspaces)+len(e.Gate)+len(e.Workloads)+len(p.workloads) != 0 {
		t.Errorf("want nothing to be left, got %+v", e)
	}
}
