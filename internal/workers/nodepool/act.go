package nodepool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// movedError says that what was decided upon is not as it was. The watch tells of what moved it.
type movedError struct{ what string }

func (e *movedError) Error() string { return e.what + " has changed meanwhile and is looked at again" }

func (r *reconciler) heal(ctx context.Context, p *v1alpha1.NodePool) operator.Outcome {
	return r.take(ctx, p, func(d decision) step { return d.heal })
}

func (r *reconciler) scale(ctx context.Context, p *v1alpha1.NodePool) operator.Outcome {
	return r.take(ctx, p, func(d decision) step { return d.scale })
}

func (r *reconciler) update(ctx context.Context, p *v1alpha1.NodePool) operator.Outcome {
	return r.take(ctx, p, func(d decision) step { return d.update })
}

// take takes one step of the plan and says what its condition says.
func (r *reconciler) take(ctx context.Context, p *v1alpha1.NodePool, pick func(decision) step) operator.Outcome {
	d, err := r.decide(ctx, p, r.Client)
	if err == nil && pick(d).acts() {
		// A cache may not have seen what the run before this one did, and doing it again is one too many.
		d, err = r.decideAgain(ctx, p)
	}
	if err == nil {
		p.Status.Replicas, p.Status.ReadyReplicas, p.Status.UpdatedReplicas = d.replicas, d.ready, d.updated
		p.Status.Selector = v1alpha1.LabelNodePool + "=" + p.Name
		err = r.do(ctx, p, d.version, pick(d))
	}
	if moved, ok := errors.AsType[*movedError](err); ok {
		return operator.Wait(v1alpha1.ReasonProgressing, moved.Error(), time.Second)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonRetrying, err)
	}
	return pick(d).say.outcome()
}

// decide reads what there is and plans.
func (r *reconciler) decide(ctx context.Context, p *v1alpha1.NodePool, from client.Reader) (decision, error) {
	c, err := r.clusterOf(ctx, p, from)
	if err != nil {
		return decision{}, err
	}
	machines, err := list(ctx, p, from)
	if err != nil {
		return decision{}, err
	}
	return plan(r.wishOf(p, c), machines, r.Now()), nil
}

// decideAgain is decide without a cache, and only when the pool too is still what was read.
func (r *reconciler) decideAgain(ctx context.Context, p *v1alpha1.NodePool) (decision, error) {
	fresh := &v1alpha1.NodePool{}
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(p), fresh)
	if client.IgnoreNotFound(err) != nil {
		return decision{}, fmt.Errorf("read the pool again: %w", err)
	}
	// That a pool is held back is no generation of its own.
	held := fresh.Annotations[v1alpha1.AnnotationUpgradeHolds] == p.Annotations[v1alpha1.AnnotationUpgradeHolds]
	if fresh.UID != p.UID || fresh.Generation != p.Generation || !held || !fresh.DeletionTimestamp.IsZero() {
		return decision{}, &movedError{"the pool"}
	}
	return r.decide(ctx, p, r.Reader)
}

// list returns the machines of a pool. The owner says whose they are, because labels can be changed.
func list(ctx context.Context, p *v1alpha1.NodePool, from client.Reader) ([]v1alpha1.Machine, error) {
	all := &v1alpha1.MachineList{}
	if err := from.List(ctx, all, client.InNamespace(p.Namespace)); err != nil {
		return nil, fmt.Errorf("list machines: %w", err)
	}
	return slices.DeleteFunc(all.Items, func(m v1alpha1.Machine) bool { return !metav1.IsControlledBy(&m, p) }), nil
}

// do removes before it creates: a crash in between leaves fewer machines than wanted, and never more.
func (r *reconciler) do(ctx context.Context, p *v1alpha1.NodePool, version string, s step) error {
	for _, m := range s.adjust {
		if err := r.adjust(ctx, p, m); err != nil {
			return err
		}
	}
	for _, m := range s.remove {
		// A machine that became ready a moment ago is another one than that which was given up.
		if err := r.delete(ctx, m, client.Preconditions{UID: &m.UID, ResourceVersion: &m.ResourceVersion}); err != nil {
			return err
		}
	}
	for range s.create {
		m := newMachine(p, version)
		if err := r.Client.Create(ctx, m); err != nil {
			return fmt.Errorf("create machine %s: %w", m.Name, err)
		}
	}
	return nil
}

func (r *reconciler) adjust(ctx context.Context, p *v1alpha1.NodePool, m *v1alpha1.Machine) error {
	before := m.DeepCopy()
	follow(p, m)
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, m, client.MergeFrom(before))); err != nil {
		return fmt.Errorf("change machine %s: %w", m.Name, err)
	}
	return nil
}

func (r *reconciler) delete(ctx context.Context, m *v1alpha1.Machine, only client.Preconditions) error {
	err := r.Client.Delete(ctx, m, only)
	if apierrors.IsConflict(err) {
		return &movedError{"machine " + m.Name}
	}
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete machine %s: %w", m.Name, err)
	}
	return nil
}

// remove removes all machines of a pool that is being deleted. Each leaves in its own time.
func (r *reconciler) remove(ctx context.Context, p *v1alpha1.NodePool) operator.Outcome {
	left, err := r.removeAll(ctx, p)
	if moved, ok := errors.AsType[*movedError](err); ok {
		return operator.Wait(v1alpha1.ReasonScaling, moved.Error(), time.Second)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonScaling, err)
	}
	if len(left) > 0 {
		return operator.Wait(v1alpha1.ReasonScaling, machinesN(len(left))+" being removed: "+names(left), 0)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// removeAll deletes all machines of a pool and returns those that are still there.
func (r *reconciler) removeAll(ctx context.Context, p *v1alpha1.NodePool) ([]*v1alpha1.Machine, error) {
	machines, err := list(ctx, p, r.Reader)
	if err != nil {
		return nil, err
	}
	var left []*v1alpha1.Machine
	for i := range machines {
		m := &machines[i]
		if m.DeletionTimestamp.IsZero() {
			if err := r.delete(ctx, m, client.Preconditions{UID: &m.UID}); err != nil {
				return nil, err
			}
		} else if differs(p, m) { // such as another time to drain, for one that takes too long
			if err := r.adjust(ctx, p, m); err != nil {
				return nil, err
			}
		}
		left = append(left, m)
	}
	p.Status.Replicas, p.Status.ReadyReplicas, p.Status.UpdatedReplicas = 0, 0, 0
	return left, nil
}
