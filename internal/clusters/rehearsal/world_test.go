package rehearsal

import (
	"context"
	"fmt"
	"iter"
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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// planeFinalizer is what the reconciler of ControlPlane holds them with.
const planeFinalizer = "kqueen.io/controlplane"

// place is a namespace with a cluster, and what the reconciler of ControlPlane does there.
type place struct {
	client    client.WithWatch
	namespace string
	now       time.Time
	would     v1alpha1.UpgradeStatus
	refused   error
	// keyspaces are the stored objects, by the UID of their control plane.
	keyspaces map[string]map[string]string
	// server runs over copies. stuck says why it does not start.
	server api
	stuck  string
	// space is how many bytes the data store takes.
	space  int64
	source *v1alpha1.ControlPlane
	wrong  []string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &place{client: c, namespace: controlplanetest.Namespace(t, c), now: time.Now().Truncate(time.Second), keyspaces: map[string]map[string]string{}, space: 1 << 30}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: "v1.34.4"}}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	p.source = &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.namespace, Name: "demo",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))},
	}, Spec: v1alpha1.ControlPlaneSpec{Version: "v1.34.4"}}
	if err := c.Create(t.Context(), p.source); err != nil {
		t.Fatal(err)
	}
	p.keyspaces[string(p.source.UID)] = map[string]string{
		"configmaps/shop/a": `{"apiVersion":"v1","kind":"ConfigMap"}`, "configmaps/shop/b": `{"apiVersion":"v1","kind":"ConfigMap"}`,
	}
	p.server = api{served: good(), objects: map[string][]string{"configmaps.v1": {config("shop", "a", ""), config("shop", "b", "")}}}
	p.would = v1alpha1.UpgradeStatus{
		ClusterUID: string(cluster.UID), FromVersion: "v1.34.4",
		Steps: []v1alpha1.UpgradeStep{
			{Kind: v1alpha1.StepPreflight}, {Kind: v1alpha1.StepControlPlane, Version: "v1.35.4"}, {Kind: v1alpha1.StepControlPlane, Version: "v1.36.3"},
		},
		Findings: []v1alpha1.UpgradeFinding{finding(v1alpha1.SeverityBlocks, v1alpha1.CheckDisruptionBudgets, "PodDisruptionBudget shop/web", "none may leave", "")},
	}
	return p
}

func (p *place) ask(t *testing.T) *v1alpha1.Rehearsal {
	t.Helper()
	o := &v1alpha1.Rehearsal{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "try"}, Spec: v1alpha1.RehearsalSpec{ClusterName: "demo", Version: "v1.36.3"}}
	if err := p.client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return o
}

// keyspace is a State of the place, whose calls may fail.
type keyspace struct {
	place *place
	inj   *operatortest.Injector
	uid   string
}

func (k keyspace) Entries(_ context.Context, revision *int64) iter.Seq2[datastore.Entry, error] {
	all, err := operatortest.ReadValue(k.inj, "state.Entries", func() (map[string]string, error) { return maps.Clone(k.place.keyspaces[k.uid]), nil })
	if revision != nil {
		*revision = 7
	}
	if err != nil {
		return func(yield func(datastore.Entry, error) bool) { yield(datastore.Entry{}, err) }
	}
	return entriesOf(all)
}

func (k keyspace) Space(context.Context, int) (int64, error) {
	return operatortest.ReadValue(k.inj, "state.Space", func() (int64, error) { return k.place.space, nil })
}

func (k keyspace) Bring(_ context.Context, _ int, want iter.Seq2[datastore.Entry, error], _ func(datastore.Entry) bool, _ func(datastore.Change)) error {
	all := map[string]string{}
	for e, err := range want {
		if err != nil {
			return err
		}
		all[e.Key] = string(e.Value)
	}
	if k.uid == string(k.place.source.UID) {
		k.place.wrong = append(k.place.wrong, "the cluster itself was written to")
	}
	if k.place.space <= 0 {
		return datastore.ErrNoSpace
	}
	return k.inj.Call("state.Bring", func() error {
		k.place.keyspaces[k.uid] = all
		return nil
	})
}

func (p *place) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	if inj == nil {
		inj = &operatortest.Injector{}
	}
	c := inj.Client(p.client)
	p.server.through = func(call string) error {
		if call == "Put" { // several at a time, in no order
			return nil
		}
		return inj.Read("server."+call, func() error { return nil })
	}
	connect := func() (Server, error) { return &p.server, nil }
	return (&reconciler{Config{
		Client: c, Reader: c, Now: func() time.Time { return p.now },
		Plan: func(context.Context, *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error) {
			return operatortest.ReadValue(inj, "upgrade.DryRun", func() (*v1alpha1.UpgradeStatus, error) { return p.would.DeepCopy(), p.refused })
		},
		State: func(_ context.Context, cp *v1alpha1.ControlPlane) (State, error) {
			return keyspace{p, inj, string(cp.UID)}, nil
		},
		Live: func(context.Context, *v1alpha1.Cluster) (Server, error) { return connect() }, Connect: func([]byte) (Server, error) { return connect() },
	}, jobs.New(context.Background(), func(string) {}, func(f func()) { f() }, 0)}).operator()
}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

// step takes the part of the reconciler of ControlPlane for the copies.
func (p *place) step(ctx context.Context) (bool, error) {
	all := &v1alpha1.ControlPlaneList{}
	if err := p.client.List(ctx, all, client.InNamespace(p.namespace)); err != nil {
		return false, err
	}
	moved := false
	for i := range all.Items {
		if !all.Items[i].IsCopy() {
			continue
		}
		did, err := p.host(ctx, &all.Items[i])
		if err != nil {
			return false, err
		}
		moved = moved || did
	}
	return moved, nil
}

// host does what is to be done for a copy.
func (p *place) host(ctx context.Context, cp *v1alpha1.ControlPlane) (bool, error) {
	keys := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cp.Namespace, Name: cp.KeysSecret()}}
	if !cp.DeletionTimestamp.IsZero() {
		delete(p.keyspaces, string(cp.UID))
		if err := client.IgnoreNotFound(p.client.Delete(ctx, keys)); err != nil {
			return false, err
		}
		controllerutil.RemoveFinalizer(cp, planeFinalizer)
		return true, client.IgnoreNotFound(p.client.Update(ctx, cp))
	}
	if controllerutil.AddFinalizer(cp, planeFinalizer) {
		return true, p.client.Update(ctx, cp)
	}
	before := cp.DeepCopy()
	if err := p.issue(ctx, keys); err != nil {
		return false, err
	}
	if cp.Spec.CopyOf != string(p.source.UID) {
		p.wrong = append(p.wrong, "the copy is not of the cluster")
	}
	cp.Status.ObservedGeneration, cp.Status.StoppedFor = cp.Generation, cp.Spec.StoppedFor
	cp.Status.Endpoint = &v1alpha1.ControlPlaneEndpoint{ServerName: "copy.kqueen.test", Address: "127.0.0.1", Port: 6443}
	set := func(condition string, is bool, message string) {
		c := metav1.Condition{Type: condition, Status: metav1.ConditionFalse, Reason: "Test", Message: message}
		if is {
			c.Status = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(&cp.Status.Conditions, c)
	}
	set(v1alpha1.ConditionStoreReady, true, "")
	runs := cp.Spec.StoppedFor == "" && p.stuck == ""
	set(v1alpha1.ConditionReady, runs, p.stuck)
	if runs {
		if len(p.keyspaces[string(cp.UID)]) < 2 {
			p.wrong = append(p.wrong, "an API server runs over half a copy")
		}
		cp.Status.Version = cp.Spec.Version
	}
	if cmp.Equal(before.Status, cp.Status) {
		return false, nil
	}
	return true, p.client.Status().Update(ctx, cp)
}

// issue makes the keys of a copy.
func (p *place) issue(ctx context.Context, keys *corev1.Secret) error {
	err := p.client.Get(ctx, client.ObjectKeyFromObject(keys), keys)
	if !apierrors.IsNotFound(err) {
		return err
	}
	bundle, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "test", Lifetime: time.Hour}},
		Leaves:      []pki.Leaf{{Name: "admin", Authority: "ca", CommonName: "admin", Usage: pki.Client, Lifetime: time.Hour}},
	}, nil, time.Now())
	if err != nil {
		return err
	}
	keys.Data = bundle
	return p.client.Create(ctx, keys)
}

// settle reconciles until the rehearsal has ended, or many times.
func (p *place) settle(t *testing.T, o *v1alpha1.Rehearsal) {
	t.Helper()
	r := p.reconciler(nil)
	for range 30 {
		if _, err := r.Reconcile(t.Context(), requestFor(o)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); apierrors.IsNotFound(err) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		operatortest.CheckStatus(t, o)
		if o.Status.CompletionTime != nil {
			return
		}
	}
}

// left is what is there beside the cluster.
func (p *place) left(ctx context.Context) ([]string, error) {
	all := &v1alpha1.ControlPlaneList{}
	if err := p.client.List(ctx, all, client.InNamespace(p.namespace)); err != nil {
		return nil, err
	}
	out := slices.Clone(p.wrong)
	for i := range all.Items {
		if all.Items[i].IsCopy() {
			out = append(out, "a control plane")
		}
	}
	for uid := range p.keyspaces {
		if uid != string(p.source.UID) {
			out = append(out, "a keyspace")
		}
	}
	secrets := &corev1.SecretList{}
	if err := p.client.List(ctx, secrets, client.InNamespace(p.namespace)); err != nil {
		return nil, err
	}
	for range secrets.Items {
		out = append(out, "a Secret")
	}
	return out, nil
}

// wantNothingLeft fails the test for what is there beside the cluster.
func (p *place) wantNothingLeft(t *testing.T) {
	t.Helper()
	left, err := p.left(t.Context())
	if err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func messageOf(o operator.Object, condition string) string {
	c := apimeta.FindStatusCondition(o.Shared().Conditions, condition)
	if c == nil {
		return "none"
	}
	return c.Reason + ": " + c.Message
}

func TestRehearsal(t *testing.T) {
	p := newPlace(t)
	p.server.refused = map[string]error{"ConfigMap shop/b": &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Message: "no"}}}
	o := p.ask(t)
	p.settle(t, o)
	said := fmt.Sprintf("%s | %s", messageOf(o, v1alpha1.ConditionReady), strings.Join(findingsOf(o.Status.Findings), "; "))
	want := "Ready: v1.34.4 to v1.35.4, then v1.36.3: 2 objects in the copy, and nothing of it is left; 3 findings, of which 1 would block or break the upgrade | " +
		"Blocks DisruptionBudgets: PodDisruptionBudget shop/web: none may leave; " +
		"Warns ObjectUpdates: ConfigMap shop/b: v1.35.4 does not take it as it is: no; Warns ObjectUpdates: ConfigMap shop/b: v1.36.3 does not take it as it is: no"
	if said != want {
		t.Errorf("got\n%s\nwant\n%s", said, want)
	}
	for _, v := range o.Status.Versions {
		if v.Kinds != 1 || v.Objects != 2 || v.Written != 1 || v.FinishedTime == nil {
			t.Errorf("got %+v", v)
		}
	}
	if o.Status.Revision != 7 || o.Status.CopiedObjects != 2 || o.Status.BlockingFindings != 1 || o.Status.ControlPlaneName != "" {
		t.Errorf("got %+v", o.Status)
	}
	p.wantNothingLeft(t)
}

// TestRehearsalEndsEarly: what cannot be rehearsed leaves nothing behind either, and says why.
func TestRehearsalEndsEarly(t *testing.T) {
	for called, c := range map[string]struct {
		prepare func(*testing.T, *place)
		// condition is the one that says it.
		condition, want string
	}{
		"Refused": {func(_ *testing.T, p *place) { p.refused = invalid.New("spec.version", "is too old") }, v1alpha1.ConditionPlanned, "RehearsalRefused: spec.version: is too old"},
		"Nothing": {
			func(_ *testing.T, p *place) { p.would.Steps, p.would.Findings = nil, nil }, v1alpha1.ConditionReady,
			"Ready: there is nothing to rehearse: the cluster has v1.36.3 already",
		},
		"DoesNotStart": {
			func(_ *testing.T, p *place) {
				p.stuck, p.would.Findings = "kube-apiserver ended", nil
				p.now = p.now.Add(-2 * startWithin)
			},
			v1alpha1.ConditionReady,
			"Ready: v1.34.4 to v1.35.4: 2 objects in the copy, and nothing of it is left; 1 finding, of which 1 would block or break the upgrade",
		},
		"StoreIsFull": {
			func(_ *testing.T, p *place) { p.space = -1 }, v1alpha1.ConditionCopied,
			"RehearsalWaiting: the data store of the cluster has no space for a copy",
		},
		"OthersFirst": {
			func(t *testing.T, p *place) {
				for n := range mostCopies {
					other := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: fmt.Sprintf("copy-%d", n)}, Spec: p.source.Spec}
					other.Spec.CopyOf, other.Spec.StoppedFor = string(p.source.UID), "other"
					if err := p.client.Create(t.Context(), other); err != nil {
						t.Fatal(err)
					}
				}
			},
			v1alpha1.ConditionCopied, "RehearsalWaiting: 2 other rehearsals of the organization go first",
		},
		"ClusterIsGone": {
			func(_ *testing.T, p *place) { p.would.ClusterUID = "another" }, v1alpha1.ConditionCopied,
			"RehearsalRefused: spec.clusterName: cluster demo, with which the rehearsal began, is gone",
		},
	} {
		t.Run(called, func(t *testing.T) {
			p := newPlace(t)
			c.prepare(t, p)
			o := p.ask(t)
			if called == "DoesNotStart" {
				p.settle(t, o)
				p.now = p.now.Add(2 * startWithin)
			}
			p.settle(t, o)
			if got := messageOf(o, c.condition); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
			if called != "OthersFirst" {
				p.wantNothingLeft(t)
			}
		})
	}
}

// TestCopyLeavesSpace: a data store that fills up while it is copied takes no more of the copy, and the rehearsal goes on when it has space.
func TestCopyLeavesSpace(t *testing.T) {
	p := newPlace(t)
	o := p.ask(t)
	r := p.reconciler(nil)
	for range 2 { // until the copy has a place
		if _, err := r.Reconcile(t.Context(), requestFor(o)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := p.step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		p.space = 0
	}
	if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	if got, want := messageOf(o, v1alpha1.ConditionCopied), "RehearsalFailed: copy what the cluster stores: the data store has no space for it"; got != want || len(p.keyspaces) != 1 {
		t.Errorf("got %q, want %q; %d keyspaces", got, want, len(p.keyspaces))
	}
	p.space = 1 << 30
	p.settle(t, o)
	if o.Status.CompletionTime == nil {
		t.Error(messageOf(o, v1alpha1.ConditionReady))
	}
	p.wantNothingLeft(t)
}

// TestRehearsalUnderFaults: whatever call fails and wherever KQueen dies, the rehearsal ends, and nothing of the copy is left.
func TestRehearsalUnderFaults(t *testing.T) {
	create := func(t *testing.T) (*place, *v1alpha1.Rehearsal, operatortest.World) {
		p := newPlace(t)
		o := p.ask(t)
		return p, o, operatortest.World{
			Request:    requestFor(o),
			Reconciler: p.reconciler,
			Object: func(ctx context.Context) (operator.Object, error) {
				return o, p.client.Get(ctx, client.ObjectKeyFromObject(o), o)
			},
			Step: p.step,
			Done: func(ctx context.Context) (bool, error) {
				err := p.client.Get(ctx, client.ObjectKeyFromObject(o), o)
				return o.Status.CompletionTime != nil, err
			},
			Snapshot: func(ctx context.Context) (any, error) {
				left, err := p.left(ctx)
				return fmt.Sprint(left, o.Finalizers, messageOf(o, v1alpha1.ConditionReady)), err
			},
		}
	}
	for called, world := range map[string]func(t *testing.T) operatortest.World{
		"Create": func(t *testing.T) operatortest.World {
			_, _, w := create(t)
			return w
		},
		"DeleteHalfDone": func(t *testing.T) operatortest.World {
			p, o, w := create(t)
			w.Then = &operatortest.Act{
				Do: func(ctx context.Context) error {
					return client.IgnoreNotFound(p.client.Delete(ctx, &v1alpha1.Rehearsal{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}}))
				},
				Done: func(ctx context.Context) (bool, error) {
					err := p.client.Get(ctx, types.NamespacedName{Namespace: o.Namespace, Name: o.Name}, &v1alpha1.Rehearsal{})
					return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
				},
			}
			w.Snapshot = func(ctx context.Context) (any, error) {
				left, err := p.left(ctx)
				return fmt.Sprint(left), err
			}
			return w
		},
	} {
		t.Run(called, func(t *testing.T) { operatortest.RunParallel(t, world) })
	}
}
