package rotation

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/workers/machine"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// place is a namespace with a cluster that has one node, and what the other reconcilers do there.
type place struct {
	client    client.WithWatch
	namespace string
	now       time.Time
	pods      Pods
	podsErr   error
	// lame keeps the node from following.
	lame bool
	// serves and trusted are what the control plane shows and what the node trusts, "old", "new" or "old new"; wrong says where one did
	// not trust what another showed.
	serves, trusted string
	wrong           []string
	*vault
}

var oldCA, newCA = authority("old"), authority("new")

func authority(name string) []byte {
	b, _, err := pki.Issue(nil, pki.Set{Authorities: []pki.Authority{{Name: "ca", CommonName: name, Lifetime: time.Hour}}}, nil, time.Now())
	if err != nil {
		panic(err)
	}
	return b["ca.crt"]
}

func newPlace(t *testing.T) *place {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &place{client: c, namespace: controlplanetest.Namespace(t, c), now: time.Now().Truncate(time.Second), serves: "old", trusted: "old", vault: newVault()}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	plane := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.namespace, Name: "demo",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))},
	}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.36.3"}}
	m := &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "node"}, Spec: v1alpha1.MachineSpec{ClusterName: "demo", Provider: "local", Version: "v1.36.3"}}
	for _, o := range []client.Object{plane, m} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		if _, err := p.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// step is one of the others'.
func (p *place) step(ctx context.Context) (bool, error) {
	cluster, plane, m := &v1alpha1.Cluster{}, &v1alpha1.ControlPlane{}, &v1alpha1.Machine{}
	for _, o := range []client.Object{cluster, plane} {
		if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "demo"}, o); err != nil {
			return false, err
		}
	}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "node"}, m); err != nil {
		return false, err
	}
	if moved, err := p.stepPlane(ctx, plane); moved || err != nil {
		return moved, err
	}
	ca := oldCA
	switch plane.Status.RotationStep(v1alpha1.CredentialCertificateAuthority) {
	case v1alpha1.StepSign, v1alpha1.StepServe:
		ca = slices.Concat(newCA, oldCA)
	case v1alpha1.StepRemove:
		ca = newCA
	case "":
		if p.serves == "new" {
			ca = newCA
		}
	}
	if cluster.Status.Join == nil || !bytes.Equal(cluster.Status.Join.CA, ca) {
		cluster.Status.Join = &v1alpha1.JoinEndpoint{Server: "192.0.2.1:1", CA: ca}
		return true, p.client.Status().Update(ctx, cluster)
	}
	if hash := machine.TrustHash(ca); !p.lame && m.Status.TrustHash != hash {
		m.Status.TrustHash, m.Status.JoinTime = hash, &metav1.Time{Time: p.now}
		apimeta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionNodeReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNodeReady})
		p.trusted = map[string]string{string(oldCA): "old", string(newCA): "new"}[string(ca)]
		if p.trusted == "" {
			p.trusted = "old new"
		}
		p.check()
		return true, p.client.Status().Update(ctx, m)
	}
	return false, nil
}

// stepPlane is one of the reconciler of control planes.
func (p *place) stepPlane(ctx context.Context, plane *v1alpha1.ControlPlane) (bool, error) {
	want := plane.Spec.Rotation
	if plane.Status.ObservedGeneration == plane.Generation {
		return false, nil
	}
	plane.Status.ObservedGeneration = plane.Generation
	apimeta.SetStatusCondition(&plane.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady})
	plane.Status.Rotation = want
	root := "ca"
	if want != nil && want.Credential == v1alpha1.CredentialServiceAccountKey {
		root = "sa"
	}
	roots := map[string]string{"ca": "sha256:old", "sa": "sha256:old"}
	switch {
	case want != nil && want.Credential == v1alpha1.CredentialEncryptionKey:
		p.turn(want.Step)
	case want != nil && want.Step != v1alpha1.StepRemove:
		roots["next-"+root] = "sha256:new"
	}
	maps.Copy(roots, p.roots)
	plane.Status.Trust = nil
	for name, fingerprint := range roots {
		plane.Status.Trust = append(plane.Status.Trust, v1alpha1.TrustRoot{Name: name, Fingerprint: fingerprint})
	}
	if step := plane.Status.RotationStep(v1alpha1.CredentialCertificateAuthority); order(step) >= order(v1alpha1.StepServe) {
		p.serves = "new"
		p.check()
	}
	return true, p.client.Status().Update(ctx, plane)
}

func (p *place) check() {
	if !strings.Contains(p.trusted, p.serves) {
		p.wrong = append(p.wrong, fmt.Sprintf("the API server shows %s, and the node trusts %s", p.serves, p.trusted))
	}
}

func (p *place) rotation(t *testing.T, name string, of v1alpha1.RotatedCredential, finish bool) *v1alpha1.Rotation {
	t.Helper()
	o := &v1alpha1.Rotation{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Spec: v1alpha1.RotationSpec{ClusterName: "demo", Credential: of, Finish: finish}}
	if err := p.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (p *place) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	if inj == nil {
		inj = &operatortest.Injector{}
	}
	c := inj.Client(p.client)
	return (&reconciler{Config{
		Client: c, Reader: c, Now: func() time.Time { return p.now },
		OlderPods: func(context.Context, *v1alpha1.Cluster, time.Time) (Pods, error) { return p.pods, p.podsErr },
		State:     func(context.Context, *v1alpha1.ControlPlane) (State, error) { return vaultLines{p.vault, inj}, nil },
		Rewriter:  p.rewriter(inj),
	}}).operator()
}

// settle reconciles a rotation, with all that is around it, until nothing changes or many times, and returns it.
func (p *place) settle(t *testing.T, o *v1alpha1.Rotation) *v1alpha1.Rotation {
	t.Helper()
	r := p.reconciler(nil)
	for range 20 {
		if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func (p *place) plane(t *testing.T) *v1alpha1.ControlPlane {
	t.Helper()
	plane := &v1alpha1.ControlPlane{}
	if err := p.client.Get(t.Context(), client.ObjectKey{Namespace: p.namespace, Name: "demo"}, plane); err != nil {
		t.Fatal(err)
	}
	return plane
}

// world is the place for the fault kit.
func (p *place) world(o *v1alpha1.Rotation) operatortest.World {
	key := client.ObjectKeyFromObject(o)
	get := func(ctx context.Context) (*v1alpha1.Rotation, error) {
		now := &v1alpha1.Rotation{}
		return now, p.client.Get(ctx, key, now)
	}
	return operatortest.World{
		Request:    reconcile.Request{NamespacedName: key},
		Reconciler: p.reconciler,
		Object:     func(ctx context.Context) (operator.Object, error) { return get(ctx) },
		Step:       p.step,
		Done: func(ctx context.Context) (bool, error) {
			now, err := get(ctx)
			return err == nil && ended(now) && apimeta.IsStatusConditionTrue(now.Status.Conditions, v1alpha1.ConditionReady), err
		},
		Snapshot: func(ctx context.Context) (any, error) {
			now, err := get(ctx)
			if err != nil {
				return nil, err
			}
			plane := &v1alpha1.ControlPlane{}
			if err := p.client.Get(ctx, client.ObjectKey{Namespace: p.namespace, Name: "demo"}, plane); err != nil {
				return nil, err
			}
			return fmt.Sprint(now.Status.Step, now.Status.OldFingerprint, now.Status.NewFingerprint, now.Status.PendingMachines, plane.Spec.Rotation, p.wrong, p.stored(), p.vault.wrong), nil
		},
	}
}
