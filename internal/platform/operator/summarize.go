package operator

import (
	"cmp"
	"slices"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// result is the outcome of the phase that owns a condition.
type result struct {
	condition string
	outcome   Outcome
	leaving   bool
}

// summarize returns the conditions that follow from the results of the phases that ran, which are
// in the order of running: only the last of them that is not late can be other than done, aside or warned. have are the conditions
// so far; those of phases that did not run stay as they were, because the phase would have said
// the same again or is not reached yet. ready is what Ready says while it is true; empty for what the last phase says.
// generation is the spec's.
func summarize(have []metav1.Condition, results []result, ready string, generation int64, deleting bool) []metav1.Condition {
	conditions := slices.Clone(have)
	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		apimeta.SetStatusCondition(&conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		})
	}
	// cause is what Ready repeats: the first thing that is not as wanted. last is what goes on.
	last, cause := Done(v1alpha1.ReasonReady, ""), Done(v1alpha1.ReasonReady, "")
	for _, r := range results {
		state := judged(r.outcome)
		if deleting {
			// "Done" means removed: the condition that said the thing is there is false now.
			state = truth(r.outcome.IsDone() && r.leaving)
		}
		set(r.condition, state, r.outcome.reason, r.outcome.message)
		if r.outcome.late || r.outcome.kind == aside && !deleting {
			continue
		}
		if last = r.outcome; cause.IsDone() {
			cause = last
		}
	}
	if last.IsDone() {
		last = cause
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
		set(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady, cmp.Or(ready, last.message))
		idle(v1alpha1.ConditionReconciling)
		idle(v1alpha1.ConditionStalled)
	default:
		set(v1alpha1.ConditionReady, judged(cause), cause.reason, cause.message)
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

func judged(o Outcome) metav1.ConditionStatus {
	if o.unknown {
		return metav1.ConditionUnknown
	}
	return truth(o.IsDone())
}

func truth(b bool) metav1.ConditionStatus {
	if b {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}
