//go:build linux

package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/workers/nodepool"
)

// What a start waits for, so that what is said is of this life of KQueen, and for how long: one object that cannot be looked at
// keeps nothing else from being served. Where it waits no longer, the log says for what.
const (
	// unlooked is for all, by the REST API.
	unlooked = 10 * time.Second
	// lookedAtLast is for control planes and, after them, for machines, in "kqueen up": a machine is looked at by its cluster, which may not answer.
	lookedAtLast = time.Minute
	// unagreed is for clusters and, after them, for pools, once what they are made of was looked at, and then for the cache.
	unagreed = 10 * time.Second
	// heldBack is for clusters, by what control planes say, and for pools, by what machines say.
	heldBack = 20 * time.Second
)

// held are the reconcilers that begin once what their objects are made of was looked at.
type held struct{ clusters, pools *operator.Barrier }

func newHeld() held { return held{operator.NewBarrier(heldBack), operator.NewBarrier(heldBack)} }

// open lets reconcilers begin that read these objects, once their cache has what was written of them.
func open(ctx context.Context, direct, cached client.Reader, barrier *operator.Barrier, log *slog.Logger, lists ...client.ObjectList) error {
	defer barrier.Open()
	return awaitCached(ctx, direct, cached, log, lists...)
}

// awaitLooked waits until looked is closed, at most for as long as the API waits. It answers false when the context ends before.
func awaitLooked(ctx context.Context, looked <-chan struct{}, log *slog.Logger) bool {
	select {
	case <-looked:
	case <-time.After(unlooked):
		log.Warn("the REST API answers before everything was looked at: what it says may be of an earlier life", "waited", unlooked)
	case <-ctx.Done():
		return false
	}
	return true
}

// awaitReady waits until the caches are filled, the first provisioner and organization are ready and what
// is said of clusters and machines is true, so that a user who is told "ready" can create and trust.
func (a *App) awaitReady(ctx context.Context, mgr ctrl.Manager, direct client.WithWatch, looks []*operator.FirstLooks, machines *operator.FirstLooks, held held) error {
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("wait for the caches: %w", context.Cause(ctx))
	}
	for _, list := range []client.ObjectList{&v1alpha1.ProvisionerList{}, &v1alpha1.OrganizationList{}, &v1alpha1.ReleaseList{}, &v1alpha1.DataStoreList{}} {
		if err := operator.WaitLooked(ctx, direct, list); err != nil {
			return err
		}
	}
	if err := awaitPlanes(ctx, direct, looks, func(ctx context.Context) error {
		return open(ctx, direct, mgr.GetClient(), held.clusters, a.Log, &v1alpha1.ControlPlaneList{})
	}, a.Log); err != nil {
		return err
	}
	if err := awaitWorkers(ctx, direct, machines, func(ctx context.Context) error {
		return open(ctx, direct, mgr.GetClient(), held.pools, a.Log, &v1alpha1.ClusterList{}, &v1alpha1.MachineList{})
	}, a.Log); err != nil {
		return err
	}
	return awaitCached(ctx, direct, mgr.GetClient(), a.Log, &v1alpha1.ControlPlaneList{}, &v1alpha1.ClusterList{}, &v1alpha1.MachineList{}, &v1alpha1.NodePoolList{})
}

// first is what a start waits for of objects: looks at each of them, and then that those which are made of them agree.
type first struct {
	names []types.NamespacedName
	looks []*operator.FirstLooks
	// begin lets the reconcilers begin of what is made of them.
	begin func(context.Context) error
	// unlooked and disagree say what is left as it is where the start waits no longer.
	unlooked, disagree string
	agreed             func(context.Context, client.Reader) (bool, error)
}

func (f first) await(ctx context.Context, direct client.Reader, log *slog.Logger) error {
	missing := f.look(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	if missing != nil {
		log.Warn("the start goes on without", "reason", f.unlooked, "waited", lookedAtLast, "error", missing)
		return nil
	}
	agreeing, cancel := context.WithTimeout(ctx, unagreed)
	defer cancel()
	agreed, err := f.agreed(agreeing, direct)
	if !agreed && err == nil && ctx.Err() == nil {
		log.Warn("the start goes on without", "reason", f.disagree, "waited", unagreed)
	}
	return err
}

// look waits for the looks, and is an error when they took too long.
func (f first) look(ctx context.Context) error {
	looking, cancel := context.WithTimeout(ctx, lookedAtLast)
	defer cancel()
	for _, l := range f.looks {
		if err := l.Wait(looking, f.names); err != nil {
			return err
		}
	}
	return nil
}

// awaitPlanes waits until what is said of control planes and of their clusters is of this life, and until clients reach them.
func awaitPlanes(ctx context.Context, direct client.Reader, looks []*operator.FirstLooks, begin func(context.Context) error, log *slog.Logger) error {
	planes := &v1alpha1.ControlPlaneList{}
	if err := direct.List(ctx, planes); err != nil {
		return fmt.Errorf("list control planes: %w", err)
	}
	if len(planes.Items) == 0 {
		return begin(ctx)
	}
	f := first{
		looks: looks, begin: begin, agreed: cluster.WaitAgreed,
		unlooked: "what is said of some control planes may be of an earlier life", disagree: "a cluster is called ready whose control plane is not",
	}
	for i := range planes.Items {
		f.names = append(f.names, client.ObjectKeyFromObject(&planes.Items[i]))
	}
	return f.await(ctx, direct, log)
}

// awaitWorkers waits until what is said of machines and pools is of this life: before, all nodes are as ready as they were when
// the host stopped.
func awaitWorkers(ctx context.Context, direct client.Reader, looks *operator.FirstLooks, begin func(context.Context) error, log *slog.Logger) error {
	machines := &v1alpha1.MachineList{}
	if err := direct.List(ctx, machines); err != nil {
		return fmt.Errorf("list machines: %w", err)
	}
	f := first{
		looks: []*operator.FirstLooks{looks}, begin: begin, agreed: nodepool.WaitAgreed,
		unlooked: "what is said of some machines and of their pools may be of an earlier life", disagree: "a pool counts nodes as ready of which no machine says so",
	}
	for i := range machines.Items {
		f.names = append(f.names, client.ObjectKeyFromObject(&machines.Items[i]))
	}
	return f.await(ctx, direct, log)
}

// awaitCached waits until the cache from which users are answered, and reconcilers, has what the looks have written.
func awaitCached(ctx context.Context, direct, cached client.Reader, log *slog.Logger, lists ...client.ObjectList) error {
	waiting, cancel := context.WithTimeout(ctx, unagreed)
	defer cancel()
	for _, list := range lists {
		shown, err := operator.WaitCached(waiting, direct, cached, list)
		if err != nil {
			return err
		}
		if !shown && ctx.Err() == nil {
			log.Warn("the start goes on without", "reason", fmt.Sprintf("the cache is behind in %T", list), "waited", unagreed)
			return nil
		}
	}
	return nil
}
