// Package nodepool is the reconciler of NodePool: it keeps as many Machines as the pool's spec wants, created from
// its template, replaces those that died, and rolls out new versions.
//
//	pool, its Machines, the time ──► plan (pure) ──► which to delete, how many to create, what to say
//
// All decisions are in plan.go, health.go and rollout.go and touch nothing. What is acted on is read
// without a cache, so that a Machine that was just made is not made twice. The package knows nothing of
// how a machine is made, joined or drained: that is the machine controller's.
//
// Package app calls Setup and WaitAgreed.
package nodepool

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Config is what the reconciler of NodePool is made of. All fields but Recorder are required.
type Config struct {
	// Client of the admin plane. It may read from a cache.
	Client client.Client
	// Reader reads the admin plane without a cache.
	Reader client.Reader
	// Prepare puts into a cluster what every node needs. It is called in every run, so it must be cheap
	// when nothing is to be done, and it is given 30 seconds. Its error is for users.
	Prepare  func(context.Context, *v1alpha1.Cluster) error
	Now      func() time.Time
	Recorder events.EventRecorder
}

// reconciler holds the phases.
type reconciler struct {
	Config
	// began is when this process began to look. What it was told of machines before that is old: a node
	// that was not ready when KQueen stopped may have been ready ever since.
	began time.Time
}

// New returns the reconciler of NodePool. The caller has to watch the pool's Machines, which it owns,
// and its Cluster: see PoolsOf.
func New(c Config) *operator.Reconciler[*v1alpha1.NodePool] {
	r := &reconciler{c, c.Now()}
	return operator.New(operator.Config[*v1alpha1.NodePool]{
		Client:    c.Client,
		Recorder:  c.Recorder,
		New:       func() *v1alpha1.NodePool { return &v1alpha1.NodePool{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/nodepool",
		Ready:     "all nodes are ready, with the present version and template",
		Phases: []operator.Phase[*v1alpha1.NodePool]{
			{Condition: v1alpha1.ConditionClusterReady, Ensure: r.cluster},
			{Condition: v1alpha1.ConditionHealthy, Ensure: r.heal},
			{Condition: v1alpha1.ConditionScaled, Ensure: r.scale, Remove: r.remove},
			{Condition: v1alpha1.ConditionUpdated, Ensure: r.update},
		},
	})
}

// PoolsOf returns which pools are to be looked at when a Cluster changes.
func PoolsOf(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, cluster client.Object) []reconcile.Request {
		pools := &v1alpha1.NodePoolList{}
		// It fails only when the cache is not there yet, and then every pool is looked at anyhow.
		if err := c.List(ctx, pools, client.InNamespace(cluster.GetNamespace())); err != nil {
			return nil
		}
		var requests []reconcile.Request
		for i := range pools.Items {
			if p := &pools.Items[i]; p.Spec.ClusterName == cluster.GetName() {
				requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}})
			}
		}
		return requests
	}
}
