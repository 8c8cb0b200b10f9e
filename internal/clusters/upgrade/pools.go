package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

// turn is the next step of a pool after a place in the plan, or -1. It is pure.
func turn(steps []v1alpha1.UpgradeStep, after int, pool string) int {
	for i := after + 1; i < len(steps); i++ {
		if steps[i].Kind == v1alpha1.StepNodePool && steps[i].Object == pool {
			return i
		}
	}
	return -1
}

// held is the version that a pool keeps while the control plane goes on: that of its last step, or the one from before. It is pure.
func held(u *v1alpha1.Upgrade, at int, pool string) string {
	version := u.Status.FromVersion
	for _, s := range u.Status.Steps[:at] {
		if s.Kind == v1alpha1.StepNodePool && s.Object == pool {
			version = s.Version
		}
	}
	return version
}

// holdPools keeps the pools that follow the cluster at the version that they have, until it is their turn.
func (r *reconciler) holdPools(ctx context.Context, u *v1alpha1.Upgrade, at int) error {
	pools, err := nodePools(ctx, r.Reader, u)
	if err != nil {
		return err
	}
	for i := range pools {
		p := &pools[i]
		if p.Spec.Version != "" || !p.DeletionTimestamp.IsZero() || turn(u.Status.Steps, at, p.Name) < 0 {
			continue
		}
		if err := annotate(ctx, r.Client, p, v1alpha1.AnnotationUpgradeHolds, held(u, at, p.Name)); err != nil {
			return fmt.Errorf("hold node pool %s back: %w", p.Name, err)
		}
	}
	return nil
}

// release lets all pools of the cluster follow it. Where the cluster has another version than a pool is held at, and stays is given, the pool
// gets the version that it is held at as its own: what has not begun does not begin.
func (r *reconciler) release(ctx context.Context, u *v1alpha1.Upgrade, stays string) error {
	pools, err := nodePools(ctx, r.Reader, u)
	if err != nil {
		return err
	}
	for i := range pools {
		p := &pools[i]
		version, holds := p.Annotations[v1alpha1.AnnotationUpgradeHolds]
		if !holds {
			continue
		}
		base := p.DeepCopy()
		delete(p.Annotations, v1alpha1.AnnotationUpgradeHolds)
		if _, err := release.ParseVersion(version); err == nil && stays != "" && version != stays && p.Spec.Version == "" {
			p.Spec.Version = version
		}
		if err := client.IgnoreNotFound(r.Client.Patch(ctx, p, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}))); err != nil {
			return fmt.Errorf("let go of node pool %s: %w", p.Name, err)
		}
	}
	return nil
}

// nodePool brings the nodes of a pool to the version of a step.
func (r *reconciler) nodePool(ctx context.Context, u *v1alpha1.Upgrade, at int) operator.Outcome {
	s := &u.Status.Steps[at]
	p := &v1alpha1.NodePool{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: u.Namespace, Name: s.Object}, p)
	switch {
	case err != nil && !apierrors.IsNotFound(err):
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, fmt.Errorf("read node pool %s: %w", s.Object, err))
	case err != nil || p.Spec.ClusterName != u.Spec.ClusterName || !p.DeletionTimestamp.IsZero():
		return r.skip(u, s, "the pool is gone")
	}
	if p.Spec.Version != "" && !u.Spec.Rollback && keepsOwn(u.Status.Steps, at, p.Spec.Version) {
		return r.skip(u, s, "the pool has a version of its own: "+p.Spec.Version)
	}
	if err := r.lead(ctx, u, p, at); err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	machines := &v1alpha1.MachineList{}
	if err := r.Reader.List(ctx, machines, client.InNamespace(u.Namespace)); err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, fmt.Errorf("list machines: %w", err))
	}
	waits, stuck := behind(u, p, machines.Items, s.Version)
	if waits == "" {
		r.finish(u, s, v1alpha1.StepDone, "")
		return operator.Wait(v1alpha1.ReasonUpgradingNodePool, "the nodes of pool "+p.Name+" run "+s.Version, atOnce)
	}
	r.hold(u, s, waits, stuck)
	return operator.Wait(v1alpha1.ReasonUpgradingNodePool, fmt.Sprintf("the nodes of pool %s are being replaced by ones of %s: %s", p.Name, s.Version, waits), stepCheck)
}

func (r *reconciler) skip(u *v1alpha1.Upgrade, s *v1alpha1.UpgradeStep, why string) operator.Outcome {
	r.finish(u, s, v1alpha1.StepSkipped, why)
	return operator.Wait(v1alpha1.ReasonUpgradingNodePool, s.Name+" is skipped: "+why, atOnce)
}

// keepsOwn says whether a pool can keep a version of its own at a step: for good once the control plane goes no further, and before that
// while it fits the next version. It is pure.
func keepsOwn(steps []v1alpha1.UpgradeStep, at int, own string) bool {
	next := slices.IndexFunc(steps[at:], func(s v1alpha1.UpgradeStep) bool { return s.Kind == v1alpha1.StepControlPlane })
	if next < 0 {
		return true
	}
	server, errServer := release.ParseVersion(steps[at+next].Version)
	kubelet, errOwn := release.ParseVersion(own)
	return errServer == nil && errOwn == nil && unfit(server, kubelet) == ""
}

// lead has a pool want the version of a step: one of its own is changed, and one that follows the cluster is let go of, or, where the control
// plane goes on after it, held at that version.
func (r *reconciler) lead(ctx context.Context, u *v1alpha1.Upgrade, p *v1alpha1.NodePool, at int) error {
	s := u.Status.Steps[at]
	if p.Spec.Version == "" {
		holds := ""
		if u.Spec.Rollback || turn(u.Status.Steps, at, p.Name) >= 0 {
			holds = s.Version
		}
		if err := annotate(ctx, r.Client, p, v1alpha1.AnnotationUpgradeHolds, holds); err != nil {
			return fmt.Errorf("let node pool %s follow: %w", p.Name, err)
		}
		return nil
	}
	if !short(u, p.Spec.Version, s.Version) {
		return nil
	}
	base := p.DeepCopy()
	p.Spec.Version = s.Version
	if err := r.Client.Patch(ctx, p, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("set spec.version of node pool %s to %s: %w", p.Name, s.Version, err)
	}
	return nil
}

// behind says what a pool lacks until all of its nodes have a version, and whether only a user can mend that. The machines count and not
// only what the pool says: it may not have looked yet. It is pure.
func behind(u *v1alpha1.Upgrade, p *v1alpha1.NodePool, machines []v1alpha1.Machine, version string) (waits string, stuck bool) {
	current, old := int32(0), 0
	for i := range machines {
		m := &machines[i]
		if !metav1.IsControlledBy(m, p) {
			continue
		}
		live := m.DeletionTimestamp.IsZero()
		if !live || short(u, m.Spec.Version, version) {
			old++
			continue
		}
		if apimeta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionNodeReady) {
			current++
		}
	}
	ready := apimeta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	is := ready != nil && ready.Status == metav1.ConditionTrue && p.Status.ObservedGeneration == p.Generation
	if is && old == 0 && current >= p.Spec.Replicas {
		return "", false
	}
	said := fmt.Sprintf("%d of %s are up to date", current, text.Count(int(p.Spec.Replicas), "node"))
	if ready != nil && !is {
		said = cmp.Or(ready.Message, said)
	}
	return said, apimeta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionStalled)
}
