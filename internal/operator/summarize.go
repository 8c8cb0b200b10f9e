package operator

import (
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// result is the outcome of the phase that owns a condition.
type result struct {
	condition string
	outcome   Outcome
}

// summarize returns the conditions that follow from the results of the phases that ran, which are
// in the order of running: only the last of them can be other than done. have are the conditions
// so far; those of phases that did not run stay as they were, because the phase would have said
// the same again or is not reached yet. generation is the spec's.
func summarize(have []metav1.Condition, results []result, generation int64, deleting bool) []metav1.Condition {
	conditions := slices.Clone(have)
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		apimeta.SetStatusCondition(&conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		})
	}
	last := Done(v1alpha1.ReasonReady, "")
	for _, r := range results {
		last = r.outcome
		// While deleting, "done" means removed: the condition that said the thing is there is false now.
		set(r.condition, truth(last.IsDone() && !deleting), last.reason, last.message)
	}
	idle := func(kind string) { set(kind, metav1.ConditionFalse, v1alpha1.ReasonIdle, "") }
	switch {
	case last.kind == stalled:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, last.reason, last.message)
		set(v1alpha1.ConditionStalled, metav1.ConditionTrue, last.reason, last.message)
		idle(v1alpha1.ConditionReconciling)
	case deleting:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonDeleting, last.message)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonDeleting, last.message)
		idle(v1alpha1.ConditionStalled)
	case last.IsDone():
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, last.message)
		idle(v1alpha1.ConditionReconciling)
		idle(v1alpha1.ConditionStalled)
	default:
		set(v1alpha1.ConditionReady, metav1.ConditionFalse, last.reason, last.message)
		set(v1alpha1.ConditionReconciling, metav1.ConditionTrue, progress(last), last.message)
		idle(v1alpha1.ConditionStalled)
	}
	return conditions
}

func progress(o Outcome) string {
	if o.kind == retrying {
		return v1alpha1.ReasonRetrying
	}
	return v1alpha1.ReasonProgressing
}

func truth(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
