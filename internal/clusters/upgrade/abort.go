package upgrade

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// abort ends an upgrade that is deleted while it goes on: the control plane stays at the version that it has reached, and so do the node
// pools whose turn has not come.
func (r *reconciler) abort(ctx context.Context, u *v1alpha1.Upgrade) operator.Outcome {
	if u.Status.CompletionTime != nil {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	// Without a cache: what this upgrade has just changed must not be missed.
	s, err := find(ctx, r.Reader, u)
	if errors.Is(err, errGone) {
		if err := r.release(ctx, u, ""); err != nil {
			return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
		}
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	waits, err := r.goBack(ctx, u, s)
	if err == nil && waits != "" {
		return operator.Wait(v1alpha1.ReasonUpgradeGoingBack, waits, stepCheck)
	}
	if err == nil {
		err = r.release(ctx, u, s.cluster.Spec.Version)
	}
	if err == nil {
		err = r.leave(ctx, u, s.cluster)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// goBack has the cluster want the version that its control plane has, when the upgrade wanted another one. Until the control plane has seen
// that, it may still reach the newer one: then the cluster wants that again, because no version is lowered but by a rollback. It says what it waits for.
func (r *reconciler) goBack(ctx context.Context, u *v1alpha1.Upgrade, s subject) (string, error) {
	if waits, err := (restorer{r}).end(ctx, u); waits != "" || err != nil {
		return waits, err
	}
	if u.Spec.Rollback {
		return stay(ctx, r.Client, u, s)
	}
	i := slices.IndexFunc(u.Status.Steps, func(s v1alpha1.UpgradeStep) bool {
		return s.Kind == v1alpha1.StepControlPlane && !s.Ended() && s.State != v1alpha1.StepPending
	})
	if i < 0 {
		return "", nil
	}
	begun, runs := u.Status.Steps[i].Version, s.plane.Status.Version
	ours := s.cluster.Spec.Version == begun && older(runs, begun)
	if ours || older(s.cluster.Spec.Version, runs) {
		if err := setVersion(ctx, r.Client, s.cluster, runs, ""); err != nil {
			return "", err
		}
		r.tell(u, corev1.EventTypeNormal, "WentBack", fmt.Sprintf("cluster %s stays at %s, because the upgrade is deleted", s.cluster.Name, runs))
		return fmt.Sprintf("cluster %s stays at %s", s.cluster.Name, runs), nil
	}
	unseen := s.cluster.Status.ObservedGeneration != s.cluster.Generation || s.plane.Status.ObservedGeneration != s.plane.Generation
	if unseen || s.plane.Spec.Version != s.cluster.Spec.Version {
		return fmt.Sprintf("waiting until the control plane of cluster %s has seen that it stays at %s", s.cluster.Name, s.cluster.Spec.Version), nil
	}
	return "", nil
}
