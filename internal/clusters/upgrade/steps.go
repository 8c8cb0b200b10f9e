package upgrade

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/maintenance"
	"kqueen.io/kqueen/internal/platform/operator"
)

// stepOf is the step of a kind that there is once, or nil.
func stepOf(u *v1alpha1.Upgrade, kind string) *v1alpha1.UpgradeStep {
	i := slices.IndexFunc(u.Status.Steps, func(s v1alpha1.UpgradeStep) bool { return s.Kind == kind })
	if i < 0 {
		return nil
	}
	return &u.Status.Steps[i]
}

// begin has a step begin: it is known to have begun before it changes anything, so that an
// upgrade that is ended finds what it may have changed. Nil once it has. A step that is paused does not begin.
func (r *reconciler) begin(u *v1alpha1.Upgrade, s *v1alpha1.UpgradeStep, reason string) *operator.Outcome {
	if s.State != v1alpha1.StepPending {
		return nil
	}
	o := operator.Wait(reason, s.Name+" begins", atOnce)
	if u.Spec.Paused {
		o = operator.Wait(v1alpha1.ReasonUpgradePaused, "spec.paused keeps the next step from beginning: "+s.Name, 0)
		return &o
	}
	s.State, s.StartedTime, s.Message = v1alpha1.StepRunning, r.now(), ""
	r.tell(u, corev1.EventTypeNormal, "StepStarted", s.Name+" has begun")
	return &o
}

// finish ends a step. The status is written before the next one begins.
func (r *reconciler) finish(u *v1alpha1.Upgrade, s *v1alpha1.UpgradeStep, state, message string) {
	s.State, s.FinishedTime, s.Message = state, r.now(), message
	r.tell(u, corev1.EventTypeNormal, "StepEnded", s.Name+" is "+map[string]string{v1alpha1.StepDone: "done", v1alpha1.StepSkipped: "skipped: " + message}[state])
}

// hold notes what a step waits for; what only a user can mend makes it failed until it is mended.
func (r *reconciler) hold(u *v1alpha1.Upgrade, s *v1alpha1.UpgradeStep, message string, failed bool) {
	state := v1alpha1.StepRunning
	if failed {
		state = v1alpha1.StepFailed
	}
	if failed && s.State != state {
		r.tell(u, corev1.EventTypeWarning, "StepFailed", s.Name+": "+message)
	}
	s.State, s.Message = state, message
}

func (r *reconciler) tell(u *v1alpha1.Upgrade, kind, reason, note string) {
	if r.Recorder != nil {
		r.Recorder.Eventf(u, nil, kind, reason, "Upgrade", "%s", note)
	}
}

// advance takes the steps that change the cluster, one after the other, and ends the upgrade.
func (r *reconciler) advance(ctx context.Context, u *v1alpha1.Upgrade) operator.Outcome {
	i := slices.IndexFunc(u.Status.Steps, func(s v1alpha1.UpgradeStep) bool { return !s.Ended() })
	if i < 0 {
		return r.end(ctx, u)
	}
	s := &u.Status.Steps[i]
	reason, act := v1alpha1.ReasonUpgradingControlPlane, r.controlPlane
	switch s.Kind {
	case v1alpha1.StepNodePool:
		reason, act = v1alpha1.ReasonUpgradingNodePool, r.nodePool
	case v1alpha1.StepEmulation:
		act = r.emulate
	case v1alpha1.StepComparison, v1alpha1.StepRestore:
		reason, act = v1alpha1.ReasonUpgradeRestoring, restorer{r}.take
	}
	if o := r.awaitWindow(ctx, u, s); o != nil && s.Kind != v1alpha1.StepComparison {
		return *o
	}
	if o := r.begin(u, s, reason); o != nil {
		return *o
	}
	return act(ctx, u, i)
}

// awaitWindow waits with a step that has not begun until the cluster may be changed; nil when it may.
func (r *reconciler) awaitWindow(ctx context.Context, u *v1alpha1.Upgrade, s *v1alpha1.UpgradeStep) *operator.Outcome {
	u.Status.NextWindowTime = nil
	if s.State != v1alpha1.StepPending || u.Spec.IgnoreMaintenance || u.Spec.Paused {
		return nil
	}
	subject, refused := r.subject(ctx, u)
	if refused != nil {
		return refused
	}
	o := operator.Stalled(v1alpha1.ReasonUpgradeOutsideWindow, "no maintenance window of the cluster opens any more; change spec.maintenance of the cluster, or set spec.ignoreMaintenance")
	calendar, err := maintenance.Parse(subject.cluster.Spec.Maintenance)
	if err != nil { // admission refuses it
		o = operator.Stalled(v1alpha1.ReasonUpgradeOutsideWindow, "the maintenance of the cluster cannot be read: %v", err)
		return &o
	}
	now := r.Now()
	opens := calendar.Opens(now)
	if !opens.IsZero() && !opens.After(now) {
		return nil
	}
	if !opens.IsZero() {
		next := metav1.NewTime(opens.Truncate(time.Second))
		u.Status.NextWindowTime = &next
		why := "a maintenance window of the cluster, as status.nextWindowTime says"
		if calendar.Frozen(now) {
			why = "the end of the freeze of the cluster, as status.nextWindowTime says"
		}
		o = operator.Wait(v1alpha1.ReasonUpgradeOutsideWindow, s.Name+" waits for "+why, min(opens.Sub(now), windowCheck))
	}
	return &o
}

// windowCheck is the longest time between two looks at a window: clocks are set, and hosts sleep.
const windowCheck = 15 * time.Minute

// end lets go of all that the upgrade has held.
func (r *reconciler) end(ctx context.Context, u *v1alpha1.Upgrade) operator.Outcome {
	if err := r.release(ctx, u, ""); err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	s, refused := r.subject(ctx, u)
	if refused != nil {
		return *refused
	}
	if err := r.leave(ctx, u, s.cluster); err != nil {
		return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
	}
	u.Status.CompletionTime = r.now()
	return operator.Done(v1alpha1.ReasonUpgradeStepDone, "the cluster has "+u.Spec.Version)
}
