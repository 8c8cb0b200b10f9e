package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/operator"
)

// stepCheck is the longest time between two looks at a step that goes on.
const stepCheck = 5 * time.Second

// older says whether one version is older than another; one that cannot be read is older than all. It is pure.
func older(a, than string) bool {
	x, errX := release.ParseVersion(a)
	y, errY := release.ParseVersion(than)
	return errX != nil && errY == nil || errX == nil && errY == nil && x.Compare(y) < 0
}

// controlPlane brings the control plane to the version of a step.
func (r *reconciler) controlPlane(ctx context.Context, u *v1alpha1.Upgrade, at int) operator.Outcome {
	s := &u.Status.Steps[at]
	subject, refused := r.subject(ctx, u)
	if refused != nil {
		return *refused
	}
	if short(u, subject.cluster.Spec.Version, s.Version) {
		// The pools first: from the moment on in which the cluster has the version, they would all follow at once.
		if err := r.holdPools(ctx, u, at); err != nil {
			return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
		}
		if err := setVersion(ctx, r.Client, subject.cluster, s.Version, ""); err != nil {
			return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
		}
	}
	waits, stuck := lacks(u, subject, s.Version)
	if waits == "" {
		r.finish(u, s, v1alpha1.StepDone, "")
		return operator.Wait(v1alpha1.ReasonUpgradingControlPlane, "the control plane runs "+s.Version, atOnce)
	}
	r.hold(u, s, waits, stuck)
	return operator.Wait(v1alpha1.ReasonUpgradingControlPlane, "the control plane goes to "+s.Version+": "+waits, stepCheck)
}

// setVersion has the cluster want a version, and emulate an older minor or, where it is empty, none.
func setVersion(ctx context.Context, c client.Client, cluster *v1alpha1.Cluster, version, emulated string) error {
	base := cluster.DeepCopy()
	cluster.Spec.Version, cluster.Spec.EmulatedVersion = version, emulated
	// The lock refuses it when the cluster has changed meanwhile.
	if err := c.Patch(ctx, cluster, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("set spec.version of cluster %s to %s: %w", cluster.Name, version, err)
	}
	return nil
}

// lacks says what a cluster lacks until it runs a version and is ready, and whether only a user can mend that. It is pure.
func lacks(u *v1alpha1.Upgrade, s subject, version string) (waits string, stuck bool) {
	for _, part := range []struct {
		name, version        string
		observed, generation int64
		conditions           []metav1.Condition
	}{
		{"the control plane", s.plane.Status.Version, s.plane.Status.ObservedGeneration, s.plane.Generation, s.plane.Status.Conditions},
		{"the cluster", s.cluster.Status.Version, s.cluster.Status.ObservedGeneration, s.cluster.Generation, s.cluster.Status.Conditions},
	} {
		ready := apimeta.FindStatusCondition(part.conditions, v1alpha1.ConditionReady)
		switch {
		case part.observed != part.generation || ready == nil:
			return part.name + " has not looked at it yet", false
		case ready.Status != metav1.ConditionTrue:
			return cmp.Or(ready.Message, part.name+" is not ready"), apimeta.IsStatusConditionTrue(part.conditions, v1alpha1.ConditionStalled)
		case short(u, part.version, version):
			return fmt.Sprintf("%s still runs %s", part.name, part.version), false
		}
	}
	return "", false
}
