// Package machinecontroller is the reconciler of Machine: it takes one machine from nothing to a ready node, and
// back. A machine.Provider creates the machine; how many there should be is package nodepool's.
//
//	token in the cluster ──► provider.Ensure ──► certificates approved ──► node ready, labels and taints in sync
//	token, node gone ◄────── provider.Delete ◄── node cordoned, pods moved ◄── the Machine is deleted
//
// It hides bootstrap tokens, the rules by which a node gets certificates, what of a Node object is ours,
// and how pods leave. Nothing that a cluster says is trusted: it is bounded, checked, and cannot make a
// healthy machine look dead. While the cluster's API server does not answer, the condition NodeReady is
// Unknown, never false, so that no machine is replaced because a control plane was away; when it
// answers again the time that a node may be unready begins anew.
//
// Package app calls Setup; Peers and OfCluster map the watches of other objects to machines.
package machinecontroller

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/workers/machine"
)

// How often things are looked at.
const (
	joiningLook = 400 * time.Millisecond // a machine that comes
	joinLook    = time.Second            // a machine that a user may join some day
	unreadyLook = 2 * time.Second        // a node that was ready
	readyLook   = 5 * time.Second        // a node that is ready
	newbornLook = time.Second            // a node that just became ready: its kubelet asks for a serving certificate now
	newborn     = 30 * time.Second
	drainLook   = time.Second
	removeLook  = 500 * time.Millisecond
	clusterLook = 10 * time.Second // a cluster that is not there yet; a watch is faster
	// capacityLook is for a machine for which there is no capacity.
	capacityLook = time.Minute
)

const (
	// lookDeadline bounds all calls to a managed cluster that one phase makes.
	lookDeadline = 4 * time.Second
	// providerDeadline bounds one call of a provider, none of which blocks for long.
	providerDeadline = 30 * time.Second
	// deadAfter is how long a node must have been unready before draining no longer waits for its kubelet to
	// confirm anything: a kubelet that restarts is back sooner.
	deadAfter = 30 * time.Second
	// unjoinedPatience is how long a cluster that cannot be asked is waited for when a machine goes that never
	// was a ready node.
	unjoinedPatience = 30 * time.Second
	// A control plane that was away is noticed again soon: lastBackoff is the longest time between tries.
	firstBackoff, lastBackoff = 200 * time.Millisecond, 10 * time.Second
)

// Clusters gives access to managed clusters, as their administrator.
type Clusters interface {
	// Client returns an uncached client. It makes no call that may block for long.
	Client(ctx context.Context, cluster *v1alpha1.Cluster) (client.Client, error)
}

// Config is what the reconciler of Machine is made of. All fields but Recorder are required.
type Config struct {
	// Client of the admin plane.
	Client client.Client
	// Reader reads the admin plane without a cache: Secrets, and what a deletion depends on.
	Reader   client.Reader
	Clusters Clusters
	// Providers by name.
	Providers map[string]machine.Provider
	Recorder  events.EventRecorder
	// Now tells the time by which tokens and drains are judged.
	Now func() time.Time
}

// reconciler holds the phases.
type reconciler struct {
	Config
	// heard has, by UID, since when the machines live (a *metav1.Time) of which their provider has said, in this life of KQueen, how
	// they are. What a status says of it may be of before: it may not have been written, and the provider may fail then.
	heard sync.Map
}

// New returns the reconciler of Machine.
func New(c Config) *operator.Reconciler[*v1alpha1.Machine] {
	r := &reconciler{Config: c}
	return operator.New(operator.Config[*v1alpha1.Machine]{
		Client:    c.Client,
		Recorder:  c.Recorder,
		New:       func() *v1alpha1.Machine { return &v1alpha1.Machine{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/machine",
		Backoff:   workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, lastBackoff),
		// Removed in reverse: pods leave before the machine goes, and the node goes after it, because only then
		// it is certain that nothing of it runs any more.
		Phases: []operator.Phase[*v1alpha1.Machine]{
			{Condition: v1alpha1.ConditionBootstrapped, Ensure: r.bootstrap, Remove: r.forget},
			{Condition: v1alpha1.ConditionMachineReady, Ensure: r.provide, Remove: r.unprovide},
			{Condition: v1alpha1.ConditionNodeReady, Ensure: r.attend, Observes: true},
			{Condition: v1alpha1.ConditionDrained, Remove: r.drain, Leaving: true},
		},
	})
}

// target finds the cluster that a machine is to join, or says why it cannot yet.
func (r *reconciler) target(ctx context.Context, m *v1alpha1.Machine) (*v1alpha1.Cluster, *operator.Outcome) {
	refuse := func(o operator.Outcome) (*v1alpha1.Cluster, *operator.Outcome) { return nil, &o }
	cluster := &v1alpha1.Cluster{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.ClusterName}, cluster)
	if apierrors.IsNotFound(err) {
		return refuse(operator.Wait(v1alpha1.ReasonClusterNotFound, "there is no cluster "+m.Spec.ClusterName+" in this namespace", clusterLook))
	}
	if err != nil {
		return refuse(operator.Retry(v1alpha1.ReasonBootstrapPending, fmt.Errorf("read cluster %s: %w", m.Spec.ClusterName, err)))
	}
	if of := recordOf(m).Cluster; of != "" && of != cluster.UID {
		return refuse(operator.Stalled(v1alpha1.ReasonClusterNotFound, "the cluster of this machine was deleted and another one has its name; delete the machine"))
	}
	if cluster.Status.Join == nil {
		return refuse(operator.Wait(v1alpha1.ReasonBootstrapPending, "cluster "+cluster.Name+" cannot be joined yet", clusterLook))
	}
	return cluster, nil
}

// staying returns the cluster that a machine leaves, or nil when it is gone, or going with all that is in
// it. It asks without a cache: a cluster that is only overlooked would lose pods.
func (r *reconciler) staying(ctx context.Context, m *v1alpha1.Machine) (*v1alpha1.Cluster, error) {
	cluster := &v1alpha1.Cluster{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.ClusterName}, cluster)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read cluster %s: %w", m.Spec.ClusterName, err)
	}
	of := recordOf(m).Cluster
	if !cluster.DeletionTimestamp.IsZero() || of != "" && of != cluster.UID {
		return nil, nil
	}
	return cluster, nil
}

// siblings are the other machines of the same cluster, by name.
func (r *reconciler) siblings(ctx context.Context, m *v1alpha1.Machine) ([]v1alpha1.Machine, error) {
	list := &v1alpha1.MachineList{}
	if err := r.Client.List(ctx, list, client.InNamespace(m.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	others := slices.DeleteFunc(list.Items, func(o v1alpha1.Machine) bool {
		return o.Spec.ClusterName != m.Spec.ClusterName || o.UID == m.UID
	})
	slices.SortFunc(others, func(a, b v1alpha1.Machine) int { return strings.Compare(a.Name, b.Name) })
	return others, nil
}

// userJoins says whether a user joins the machine.
func (r *reconciler) userJoins(m *v1alpha1.Machine) bool {
	p, ok := r.Providers[m.Spec.Provider]
	return ok && p.Describe().UserJoins
}

// addressOf is the address of a machine; invalid while it is not known.
func addressOf(m *v1alpha1.Machine) netip.Addr {
	addr, err := netip.ParseAddr(m.Status.Address)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Unmap()
}
