package upgrade

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// place is a namespace with a cluster that has node pools, and what the other reconcilers do there.
type place struct {
	client    client.WithWatch
	namespace string
	from      string            // the version of the cluster in the beginning
	stored    map[string]string // by key
	seen      Seen
	unseen    error
	now       time.Time
	// slow is how many steps the control plane takes to come up with a version.
	slow, waited int
	wrong        []string
	begun        bool // the pools have their first nodes
	restored     int  // backups
}

func newPlace(t *testing.T, pools ...string) *place {
	t.Helper()
	return newPlaceAt(t, "v1.35.4", pools...)
}

func newPlaceAt(t *testing.T, from string, pools ...string) *place {
	t.Helper()
	c := controlplanetest.Client(t)
	p := &place{client: c, namespace: controlplanetest.Namespace(t, c), from: from, now: time.Now().Truncate(time.Second)}
	for _, v := range []string{"v1.35.4", "v1.36.3", "v1.37.2"} {
		r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: v}, Spec: v1alpha1.ReleaseSpec{Source: v1alpha1.ReleaseSource{Build: &v1alpha1.ReleaseBuild{}}}}
		if err := client.IgnoreAlreadyExists(c.Create(t.Context(), r)); err != nil {
			t.Fatal(err)
		}
	}
	store := &v1alpha1.BackupStore{ObjectMeta: metav1.ObjectMeta{Name: backupStoreName}, Spec: v1alpha1.BackupStoreSpec{Directory: "/backups"}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), store)); err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(store), store); err != nil {
		t.Fatal(err)
	}
	setReady(&store.Status.Status, store.Generation)
	if err := c.Status().Update(t.Context(), store); client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		t.Fatal(err)
	}
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: from}}
	if err := c.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	plane := &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.namespace, Name: "demo",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cluster, v1alpha1.GroupVersion.WithKind("Cluster"))},
	}, Spec: v1alpha1.ControlPlaneSpec{Version: from}}
	objects := []client.Object{plane}
	for _, name := range pools {
		name, own, _ := strings.Cut(name, "=")
		objects = append(objects, &v1alpha1.NodePool{
			ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Spec: v1alpha1.NodePoolSpec{ClusterName: "demo", Replicas: 1, Version: own},
		})
	}
	for _, o := range objects {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for range 4 {
		if _, err := p.step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	p.begun = true
	return p
}

func setReady(s *v1alpha1.Status, generation int64) {
	s.ObservedGeneration = generation
	apimeta.SetStatusCondition(&s.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReady})
}

// upgrade creates one.
func (p *place) upgrade(t *testing.T, name, to string, change func(*v1alpha1.UpgradeSpec)) *v1alpha1.Upgrade {
	t.Helper()
	u := &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: name}, Spec: v1alpha1.UpgradeSpec{ClusterName: "demo", Version: to, Backup: ptr.To(true)}}
	if change != nil {
		change(&u.Spec)
	}
	if err := p.client.Create(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	return u
}

func (p *place) reconciler(inj *operatortest.Injector) reconcile.Reconciler {
	if inj == nil {
		inj = &operatortest.Injector{}
	}
	c := inj.Client(p.client)
	return newReconciler(Config{
		Client: c, Reader: c, Now: func() time.Time { return p.now },
		Read: func(context.Context, *v1alpha1.Cluster) (Seen, error) {
			return operatortest.ReadValue(inj, "cluster.Read", func() (Seen, error) { return p.seen, p.unseen })
		},
		Stored: func(ctx context.Context, cp *v1alpha1.ControlPlane) (iter.Seq2[datastore.Entry, error], error) {
			return operatortest.ReadValue(inj, "state.Entries", func() (iter.Seq2[datastore.Entry, error], error) { return p.storedOf(ctx, cp) })
		},
		Called: func(context.Context, *v1alpha1.Cluster) ([]API, error) { return nil, nil },
	}).operator()
}

// settle reconciles an upgrade, with all that is around it, until it has ended, or many times.
func (p *place) settle(t *testing.T, u *v1alpha1.Upgrade) {
	t.Helper()
	r := p.reconciler(nil)
	for range 40 {
		if _, err := r.Reconcile(t.Context(), requestFor(u)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.step(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(u), u); apierrors.IsNotFound(err) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		operatortest.CheckStatus(t, u)
		if u.Status.CompletionTime != nil {
			return
		}
	}
}

func requestFor(o client.Object) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)}
}

// step takes the part of the reconcilers of Cluster, ControlPlane, NodePool and Backup.
func (p *place) step(ctx context.Context) (bool, error) {
	moved := false
	for _, part := range []func(context.Context) (bool, error){p.stepCluster, p.stepPlane, p.stepPools, p.stepBackups, p.stepRestores} {
		did, err := part(ctx)
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		moved = moved || did
	}
	return moved, nil
}

func (p *place) both(ctx context.Context) (*v1alpha1.Cluster, *v1alpha1.ControlPlane, error) {
	cluster, plane := &v1alpha1.Cluster{}, &v1alpha1.ControlPlane{}
	key := client.ObjectKey{Namespace: p.namespace, Name: "demo"}
	return cluster, plane, errors.Join(p.client.Get(ctx, key, cluster), p.client.Get(ctx, key, plane))
}

func (p *place) stepCluster(ctx context.Context) (bool, error) {
	cluster, plane, err := p.both(ctx)
	if err != nil {
		return false, err
	}
	moved := false
	if plane.Spec.Version != cluster.Spec.Version || plane.Spec.EmulatedVersion != cluster.Spec.EmulatedVersion {
		plane.Spec.Version, plane.Spec.EmulatedVersion, moved = cluster.Spec.Version, cluster.Spec.EmulatedVersion, true
		if err := p.client.Update(ctx, plane); err != nil {
			return false, err
		}
	}
	same := cluster.Status.Version == plane.Status.Version && cluster.Status.EmulatedVersion == plane.Status.EmulatedVersion
	if same && cluster.Status.ObservedGeneration == cluster.Generation {
		return moved, nil
	}
	if older(cluster.Spec.Version, cluster.Status.Version) && !strings.HasPrefix(cluster.Spec.Version, cluster.Status.EmulatedVersion+".") {
		p.wrong = append(p.wrong, "the cluster was lowered to "+cluster.Spec.Version+" before it emulated that")
	}
	cluster.Status.Version, cluster.Status.EmulatedVersion = plane.Status.Version, plane.Status.EmulatedVersion
	setReady(&cluster.Status.Status, cluster.Generation)
	return true, p.client.Status().Update(ctx, cluster)
}

func (p *place) stepPlane(ctx context.Context) (bool, error) {
	_, plane, err := p.both(ctx)
	if err != nil {
		return false, err
	}
	if plane.Status.ObservedGeneration == plane.Generation && plane.Status.Version == plane.Spec.Version && plane.Status.EmulatedVersion == plane.Spec.Emulates() {
		return false, nil
	}
	if older(plane.Spec.Version, plane.Status.Version) && plane.Status.Version != "" {
		if err := p.lowered(ctx, plane); err != nil {
			return false, err
		}
	}
	setReady(&plane.Status.Status, plane.Generation)
	if p.waited++; p.waited > p.slow {
		plane.Status.Version, plane.Status.EmulatedVersion, p.waited = plane.Spec.Version, plane.Spec.Emulates(), 0
	} else {
		apimeta.SetStatusCondition(&plane.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonProgressing, Message: "the API server starts"})
	}
	return true, p.client.Status().Update(ctx, plane)
}

// lowered looks whether a control plane may go back: it emulates that minor, and no node is newer.
func (p *place) lowered(ctx context.Context, plane *v1alpha1.ControlPlane) error {
	if !strings.HasPrefix(plane.Spec.Version, plane.Status.EmulatedVersion+".") {
		p.wrong = append(p.wrong, "the control plane was lowered from "+plane.Status.Version+" to "+plane.Spec.Version)
	}
	machines := &v1alpha1.MachineList{}
	err := p.client.List(ctx, machines, client.InNamespace(p.namespace))
	for i := range machines.Items {
		if m := &machines.Items[i]; older(plane.Spec.Version, m.Spec.Version) {
			p.wrong = append(p.wrong, "node "+m.Name+" is newer than the control plane")
		}
	}
	return err
}

// storedOf is what is stored.
func (p *place) storedOf(context.Context, *v1alpha1.ControlPlane) (iter.Seq2[datastore.Entry, error], error) {
	return func(yield func(datastore.Entry, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(p.stored)) {
			if !yield(datastore.Entry{Key: key, Value: []byte(p.stored[key])}, nil) {
				return
			}
		}
	}, nil
}

// stepPools has the pools replace their nodes, as package nodepool does; more than one at a time is wrong.
func (p *place) stepPools(ctx context.Context) (bool, error) {
	cluster, _, err := p.both(ctx)
	if err != nil {
		return false, err
	}
	pools := &v1alpha1.NodePoolList{}
	if err := p.client.List(ctx, pools, client.InNamespace(p.namespace)); err != nil {
		return false, err
	}
	var rolling []string
	for i := range pools.Items {
		pool := &pools.Items[i]
		version := pool.Spec.Version
		if version == "" {
			version = cluster.Status.Version
			if holds := pool.Annotations[v1alpha1.AnnotationUpgradeHolds]; holds != "" {
				version = holds
			}
		}
		rolled, err := p.roll(ctx, pool, version)
		if err != nil {
			return false, err
		}
		if rolled {
			rolling = append(rolling, pool.Name+" to "+version)
		}
	}
	if len(rolling) > 1 && p.begun {
		p.wrong = append(p.wrong, "pools were upgraded at once: "+strings.Join(rolling, ", "))
	}
	return len(rolling) > 0, nil
}

func (p *place) roll(ctx context.Context, pool *v1alpha1.NodePool, version string) (bool, error) {
	machine := &v1alpha1.Machine{}
	key := client.ObjectKey{Namespace: p.namespace, Name: pool.Name + "-" + strings.ReplaceAll(version, ".", "-")}
	err := p.client.Get(ctx, key, machine)
	there := err == nil
	if there && pool.Status.ObservedGeneration == pool.Generation || version == "" {
		return false, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return false, err
	}
	if !there {
		machine = &v1alpha1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pool, v1alpha1.GroupVersion.WithKind("NodePool"))}},
			Spec:       v1alpha1.MachineSpec{ClusterName: "demo", Version: version, Provider: "local"},
		}
		if err := p.client.Create(ctx, machine); err != nil {
			return false, err
		}
		apimeta.SetStatusCondition(&machine.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionNodeReady, Status: metav1.ConditionTrue, Reason: "Test"})
		if err := p.client.Status().Update(ctx, machine); err != nil {
			return false, err
		}
	}
	all := &v1alpha1.MachineList{}
	if err := p.client.List(ctx, all, client.InNamespace(p.namespace)); err != nil {
		return false, err
	}
	for i := range all.Items {
		if m := &all.Items[i]; metav1.IsControlledBy(m, pool) && m.Name != key.Name {
			if err := p.client.Delete(ctx, m); err != nil {
				return false, err
			}
		}
	}
	setReady(&pool.Status.Status, pool.Generation)
	return !there, p.client.Status().Update(ctx, pool)
}

func (p *place) stepBackups(ctx context.Context) (bool, error) {
	backups := &v1alpha1.BackupList{}
	if err := p.client.List(ctx, backups, client.InNamespace(p.namespace)); err != nil {
		return false, err
	}
	for i := range backups.Items {
		b := &backups.Items[i]
		if b.IsTaken() {
			continue
		}
		cluster, _, err := p.both(ctx)
		if err != nil {
			return false, err
		}
		if cluster.Spec.Version != p.from {
			p.wrong = append(p.wrong, "the cluster was changed before it was backed up")
		}
		b.Status.Digest = "sha256:aa"
		return true, p.client.Status().Update(ctx, b)
	}
	return false, nil
}

// end is an end state, without names and times of its own.
type end struct {
	Spec, Runs  string
	Emulates    string
	Annotated   []string
	Pools       []string
	Machines    []string
	Backups     int
	Restores    []string
	Steps       []string
	Conditions  []string
	Finalizers  []string
	Completed   bool
	Wrong       []string
	FromVersion string
}

func (p *place) snapshot(ctx context.Context, u *v1alpha1.Upgrade) (end, error) {
	cluster, plane, err := p.both(ctx)
	if err != nil {
		return end{}, err
	}
	e := end{Spec: cluster.Spec.Version, Runs: plane.Status.Version, Emulates: cluster.Spec.EmulatedVersion + plane.Status.EmulatedVersion, Wrong: p.wrong}
	for key := range cluster.Annotations {
		e.Annotated = append(e.Annotated, "cluster "+key)
	}
	pools, machines, backups := &v1alpha1.NodePoolList{}, &v1alpha1.MachineList{}, &v1alpha1.BackupList{}
	in := client.InNamespace(p.namespace)
	if err := errors.Join(p.client.List(ctx, pools, in), p.client.List(ctx, machines, in), p.client.List(ctx, backups, in)); err != nil {
		return end{}, err
	}
	for i := range pools.Items {
		pool := &pools.Items[i]
		e.Pools = append(e.Pools, pool.Name+"="+pool.Spec.Version)
		for key := range pool.Annotations {
			e.Annotated = append(e.Annotated, "pool "+pool.Name+" "+key)
		}
	}
	for i := range machines.Items {
		e.Machines = append(e.Machines, machines.Items[i].Name)
	}
	e.Backups = len(backups.Items)
	restores := &v1alpha1.RestoreList{}
	if err := p.client.List(ctx, restores, in); err != nil {
		return end{}, err
	}
	for i := range restores.Items {
		rs := &restores.Items[i]
		e.Restores = append(e.Restores, fmt.Sprintf("%s of %s, only compared: %v, ended: %v", strings.SplitN(rs.Name, "-", 2)[0], rs.Spec.BackupName, rs.Spec.CompareOnly, rs.Status.CompletionTime != nil))
	}
	if err := p.client.Get(ctx, client.ObjectKeyFromObject(u), u); err != nil {
		return e, client.IgnoreNotFound(err)
	}
	e.Finalizers, e.Completed, e.FromVersion = u.Finalizers, u.Status.CompletionTime != nil, u.Status.FromVersion
	for _, s := range u.Status.Steps {
		e.Steps = append(e.Steps, s.State+" "+s.Name)
	}
	for _, c := range u.Status.Conditions {
		e.Conditions = append(e.Conditions, fmt.Sprint(c.Type, "=", c.Status, " ", c.Reason))
	}
	slices.Sort(e.Conditions)
	return e, nil
}

// world is the upgrade of a place.
func (p *place) world(u *v1alpha1.Upgrade) operatortest.World {
	get := func(ctx context.Context) error { return p.client.Get(ctx, client.ObjectKeyFromObject(u), u) }
	return operatortest.World{
		Request:    requestFor(u),
		Reconciler: p.reconciler,
		Object:     func(ctx context.Context) (operator.Object, error) { return u, get(ctx) },
		Step:       p.step,
		Done: func(ctx context.Context) (bool, error) {
			err := get(ctx)
			return u.Status.CompletionTime != nil, err
		},
		Snapshot: func(ctx context.Context) (any, error) { return p.snapshot(ctx, u) },
	}
}

// deletion deletes the upgrade, and lets what is around it come to rest.
func (p *place) deletion(u *v1alpha1.Upgrade) *operatortest.Act {
	return &operatortest.Act{
		Do: func(ctx context.Context) error { return client.IgnoreNotFound(p.client.Delete(ctx, u)) },
		Done: func(ctx context.Context) (bool, error) {
			err := p.client.Get(ctx, client.ObjectKeyFromObject(u), u)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}

func (p *place) machines(ctx context.Context) (map[string]bool, error) {
	list := &v1alpha1.MachineList{}
	if err := p.client.List(ctx, list, client.InNamespace(p.namespace)); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for i := range list.Items {
		names[list.Items[i].Name] = true
	}
	return names, nil
}

// annotations are those that are left on the cluster and its pools.
func (p *place) annotations(ctx context.Context) ([]string, error) {
	e, err := p.snapshot(ctx, &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Namespace: p.namespace, Name: "none"}})
	return e.Annotated, err
}
