package operator

import (
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// change is a condition that has another status or reason than before.
type change struct {
	condition metav1.Condition
	warning   bool
}

// changes returns the conditions worth an event: something happened, and it was not said before.
// Ready repeats what another condition says, and Reconciling would announce every step twice.
func changes(before, after []metav1.Condition) []change {
	stuck := apimeta.IsStatusConditionTrue(after, v1alpha1.ConditionStalled)
	reconciling := apimeta.FindStatusCondition(after, v1alpha1.ConditionReconciling)
	failing := stuck || reconciling != nil && reconciling.Reason == v1alpha1.ReasonRetrying
	var out []change
	for _, c := range after {
		if c.Type == v1alpha1.ConditionReconciling || c.Type == v1alpha1.ConditionStalled {
			continue
		}
		old := apimeta.FindStatusCondition(before, c.Type)
		if old != nil && old.Status == c.Status && old.Reason == c.Reason {
			continue
		}
		if c.Type == v1alpha1.ConditionReady && c.Status != metav1.ConditionTrue {
			continue
		}
		warning := (failing || failure(c.Reason)) && c.Status != metav1.ConditionTrue || abnormal(c.Type) && c.Status == metav1.ConditionTrue
		out = append(out, change{condition: c, warning: warning})
	}
	return out
}

// failure says whether a reason tells that something failed, and not that something has to happen first. The reconciler may
// well go on with what is left, so that it counts neither as stalled nor as retrying.
func failure(reason string) bool {
	switch reason {
	case v1alpha1.ReasonMachineFailed, v1alpha1.ReasonNodeRefused, v1alpha1.ReasonNodeForeign, v1alpha1.ReasonDrainTimedOut,
		v1alpha1.ReasonReplacing, v1alpha1.ReasonTooManyUnhealthy, v1alpha1.ReasonNotReplaced,
		v1alpha1.ReasonComponentsFailing, v1alpha1.ReasonDegraded, v1alpha1.ReasonProvisionerFailed, v1alpha1.ReasonInsufficientCapacity,
		v1alpha1.ReasonClusterUnreachable, v1alpha1.ReasonProvisionerUnreachable, v1alpha1.ReasonAddonsFailed, v1alpha1.ReasonAddonsUnreachable,
		v1alpha1.ReasonIngressKeysUnusable:
		return true
	}
	return false
}

// abnormal says whether a condition, of those that are no phase, is false when all is well.
func abnormal(kind string) bool {
	switch kind {
	case v1alpha1.ConditionStoreQuotaExceeded, v1alpha1.ConditionStoreUnmeasured, v1alpha1.ConditionNearlyFull, v1alpha1.ConditionAuthorityExpiring:
		return true
	}
	return false
}

// announce records an event for each change.
func (r *Reconciler[T]) announce(obj T, before, after []metav1.Condition) {
	if r.Recorder == nil {
		return
	}
	for _, c := range changes(before, after) {
		kind := corev1.EventTypeNormal
		if c.warning {
			kind = corev1.EventTypeWarning
		}
		note := c.condition.Message
		if note == "" {
			note = c.condition.Type + " is " + string(c.condition.Status)
		}
		r.Recorder.Eventf(obj, nil, kind, c.condition.Reason, c.condition.Type, "%s", note)
	}
}
