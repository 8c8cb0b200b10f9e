package autoscaler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/share"
)

const (
	// interval is the time between two looks at a cluster, and restFactor how many times as long as a look the rest after it is at least:
	// a large cluster costs no more of the host than a small one.
	interval   = 10 * time.Second
	restFactor = 20
	// soonest is the shortest time between two looks.
	soonest = time.Second
	// failedInterval is the time after a look that failed.
	failedInterval = 30 * time.Second
	// full is the time after which a look is tried again for which others left no room.
	full = 2 * time.Second

	mostLooks      = 4
	mostLooksOfOne = 2
	sureOfOne      = 1
)

// Why a cluster is not asked.
var (
	errAsleep     = errors.New("it sleeps")
	errNotHealthy = errors.New("its API server is not healthy")
)

// unasked says why a cluster is not asked; nil for one that is.
func unasked(c *v1alpha1.Cluster) error {
	switch {
	case c.Status.Sleeps():
		return errAsleep
	case !apimeta.IsStatusConditionTrue(c.Status.Conditions, v1alpha1.ConditionProvisioned):
		return errNotHealthy
	}
	return nil
}

// markValue is what the annotation says by which this package marks the machine that goes first.
const markValue = "autoscaling"

// reconciler looks at clusters with pools that scale.
type reconciler struct {
	Config
	looks *share.Shares

	mu sync.Mutex
	// idle is since when machines are not needed, by cluster. It is not written: after a restart, and after a look that failed, the time
	// begins again.
	idle map[types.NamespacedName]map[types.UID]time.Time
}

// New returns the reconciler. Its requests name Clusters.
func New(c Config) reconcile.Reconciler {
	return &reconciler{Config: c, looks: share.New(mostLooks, mostLooksOfOne, sureOfOne), idle: map[types.NamespacedName]map[types.UID]time.Time{}}
}

// Reconcile implements reconcile.Reconciler. A cluster none of whose pools scales is not looked at.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &v1alpha1.Cluster{}
	if err := r.Client.Get(ctx, req.NamespacedName, c); err != nil || !c.DeletionTimestamp.IsZero() {
		r.remember(req.NamespacedName, nil)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	have, err := r.read(ctx, c, r.Client)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.tidy(ctx, have); err != nil {
		return again(err)
	}
	if !slices.ContainsFunc(have.pools, scales) {
		r.remember(req.NamespacedName, nil)
		return reconcile.Result{}, nil
	}
	if why := unasked(c); why != nil {
		return r.pause(ctx, c, have, why)
	}
	leave := r.looks.Take(c.Namespace)
	if leave == nil {
		return reconcile.Result{RequeueAfter: full}, nil
	}
	defer leave()
	begun := r.Now()
	seen, err := r.Read(ctx, c)
	if err != nil {
		return r.pause(ctx, c, have, err)
	}
	due, err := r.act(ctx, c, have, seen)
	if err != nil {
		return again(err)
	}
	return reconcile.Result{RequeueAfter: untilNext(due, r.Now(), r.Now().Sub(begun))}, nil
}

// untilNext is the time until the next look: sooner when a node may go before. It is pure.
func untilNext(due, now time.Time, took time.Duration) time.Duration {
	after := interval
	if !due.IsZero() {
		after = min(after, max(due.Sub(now), soonest))
	}
	return max(after, restFactor*took)
}

// again looks again soon where what was decided upon has changed meanwhile.
func again(err error) (reconcile.Result, error) {
	if apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: time.Second}, nil
	}
	return reconcile.Result{}, err
}

// act decides and does what was decided. A cache may not have seen what the run before this one did: what changes pools is decided again
// without one. It returns when a node may go next.
func (r *reconciler) act(ctx context.Context, c *v1alpha1.Cluster, have state, seen Seen) (due time.Time, err error) {
	at := client.ObjectKeyFromObject(c)
	d := r.plan(at, have, seen)
	if have.changedBy(d) {
		fresh, err := r.read(ctx, c, r.Reader)
		if err != nil {
			return due, err
		}
		have, d = fresh, r.plan(at, fresh, seen)
	}
	r.remember(at, d.Idle)
	for _, p := range have.pools {
		decided, ok := d.Pools[p.Name]
		if !ok {
			continue
		}
		if err := r.carryOut(ctx, p, have.of(p), decided); err != nil {
			return due, err
		}
	}
	return d.Due, nil
}

func (r *reconciler) plan(at types.NamespacedName, have state, seen Seen) Decision {
	r.mu.Lock()
	idle := r.idle[at]
	r.mu.Unlock()
	return Plan(seen, have.planned(seen.Nodes, r.Host()), idle, r.Now())
}

// remember keeps since when machines of a cluster are not needed, for the next decision.
func (r *reconciler) remember(at types.NamespacedName, idle map[types.UID]time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if idle == nil {
		delete(r.idle, at)
		return
	}
	r.idle[at] = idle
}

// carryOut does with a pool what was decided. The mark comes first: a pool that is made smaller takes its pick at once.
func (r *reconciler) carryOut(ctx context.Context, p *v1alpha1.NodePool, machines []v1alpha1.Machine, d PoolDecision) error {
	if err := r.mark(ctx, p, machines, d.Remove); err != nil {
		return err
	}
	status := v1alpha1.PoolAutoscalingStatus{}
	if p.Status.Autoscaling != nil {
		status = *p.Status.Autoscaling
	}
	if from := p.Spec.Replicas; from != d.Replicas {
		if err := r.resize(ctx, p, d); err != nil {
			return err
		}
		now := r.now()
		status.LastScaleTime, status.LastScale = &now, fmt.Sprintf("from %d to %d: %s", from, d.Replicas, d.Why)
		r.announceScale(p, from, d)
	}
	if len(d.Pending) > 0 && len(status.PendingPods) == 0 {
		r.warn(p, v1alpha1.ReasonPodsPending, fmt.Sprintf("pod %s makes the pool no larger: %s", d.Pending[0].Name, d.Pending[0].Message))
	}
	status.Message, status.PendingPods, status.Nodes = d.Message, d.Pending, d.Nodes
	return r.say(ctx, p, &status)
}

// resize writes how many machines a pool shall have, unless it has changed meanwhile.
func (r *reconciler) resize(ctx context.Context, p *v1alpha1.NodePool, d PoolDecision) error {
	before := p.DeepCopy()
	p.Spec.Replicas = d.Replicas
	if err := r.Client.Patch(ctx, p, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("scale nodepool %s: %w", p.Name, err)
	}
	r.Measures.count(before.Spec.Replicas, d.Replicas)
	return nil
}

// mark marks the machine that goes, and takes the mark from others: a machine may be needed again before its pool was made smaller.
func (r *reconciler) mark(ctx context.Context, p *v1alpha1.NodePool, machines []v1alpha1.Machine, goes string) error {
	if live(machines) > p.Spec.Replicas {
		return nil // one is just going
	}
	for i := range machines {
		m := &machines[i]
		before := m.DeepCopy()
		switch has := m.Annotations[v1alpha1.AnnotationDeleteFirst] == markValue; {
		case !m.DeletionTimestamp.IsZero() || has == (m.Name == goes):
			continue
		case has:
			delete(m.Annotations, v1alpha1.AnnotationDeleteFirst)
		default:
			m.Annotations = withMark(m.Annotations)
		}
		if err := client.IgnoreNotFound(r.Client.Patch(ctx, m, client.MergeFrom(before))); err != nil {
			return fmt.Errorf("mark machine %s: %w", m.Name, err)
		}
	}
	return nil
}

func withMark(annotations map[string]string) map[string]string {
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationDeleteFirst] = markValue
	return annotations
}

// pause says of a cluster that could not be asked that nothing is changed.
func (r *reconciler) pause(ctx context.Context, c *v1alpha1.Cluster, have state, cause error) (reconcile.Result, error) {
	r.remember(client.ObjectKeyFromObject(c), nil)
	known := unasked(c)
	for _, p := range have.pools {
		if !scales(p) {
			continue
		}
		status := v1alpha1.PoolAutoscalingStatus{}
		if p.Status.Autoscaling != nil {
			status = *p.Status.Autoscaling
		}
		// That a cluster is not healthy, or sleeps, it says itself.
		if !strings.HasPrefix(status.Message, pausedMessage) && known == nil {
			r.warn(p, v1alpha1.ReasonAutoscalingPaused, pausedMessage+causeOf(cause))
		}
		status.Message, status.PendingPods, status.Nodes = pausedMessage+causeOf(cause), nil, nil
		if err := r.say(ctx, p, &status); err != nil {
			return again(err)
		}
	}
	return reconcile.Result{RequeueAfter: failedInterval}, nil
}

// tidy takes away what is left of autoscaling that was switched off.
func (r *reconciler) tidy(ctx context.Context, have state) error {
	for _, p := range have.pools {
		if scales(p) || p.Status.Autoscaling == nil || !p.DeletionTimestamp.IsZero() {
			continue
		}
		if err := r.mark(ctx, p, have.of(p), ""); err != nil {
			return err
		}
		if err := r.say(ctx, p, nil); err != nil {
			return err
		}
	}
	return nil
}

// say writes what was decided of a pool, when it is something else than before.
func (r *reconciler) say(ctx context.Context, p *v1alpha1.NodePool, status *v1alpha1.PoolAutoscalingStatus) error {
	before := p.DeepCopy()
	p.Status.Autoscaling = status
	patch := client.MergeFrom(before)
	if data, err := patch.Data(p); err == nil && string(data) == "{}" {
		return nil
	}
	if err := client.IgnoreNotFound(r.Client.Status().Patch(ctx, p, patch)); err != nil {
		return fmt.Errorf("say what was decided of nodepool %s: %w", p.Name, err)
	}
	return nil
}

// scales says whether KQueen sets how many machines a pool has.
func scales(p *v1alpha1.NodePool) bool {
	return p.Spec.Autoscaling != nil && p.Spec.MaxReplicas != nil && p.DeletionTimestamp.IsZero()
}

// least is how few machines a pool may have.
func least(p *v1alpha1.NodePool) int32 { return ptr.Deref(p.Spec.MinReplicas, 0) }
