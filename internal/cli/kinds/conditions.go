package kinds

import (
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Conditioned is an object of KQueen's.
type Conditioned interface {
	client.Object
	Shared() *v1alpha1.Status
}

// ReadyStatus is the status of an object's Ready condition, or empty.
func ReadyStatus(o client.Object) string {
	if c, ok := o.(Conditioned); ok {
		if ready := apimeta.FindStatusCondition(c.Shared().Conditions, v1alpha1.ConditionReady); ready != nil {
			return string(ready.Status)
		}
	}
	return ""
}

// readyReason is the reason of an object's Ready condition, or empty.
func readyReason(o client.Object) string {
	if c, ok := o.(Conditioned); ok {
		if ready := apimeta.FindStatusCondition(c.Shared().Conditions, v1alpha1.ConditionReady); ready != nil {
			return ready.Reason
		}
	}
	return ""
}

// ReadyMessage is the message of an object's Ready condition, or empty.
func ReadyMessage(o client.Object) string {
	if c, ok := o.(Conditioned); ok {
		if ready := apimeta.FindStatusCondition(c.Shared().Conditions, v1alpha1.ConditionReady); ready != nil {
			return ready.Message
		}
	}
	return ""
}

// Condition returns a condition that speaks of the object's spec as it is now, or nil. A reconciler that has looked at the
// spec may not have come as far as the condition yet, which then is as it was before.
func Condition(o Conditioned, name string) *metav1.Condition {
	status := o.Shared()
	if status.ObservedGeneration < o.GetGeneration() {
		return nil
	}
	found := apimeta.FindStatusCondition(status.Conditions, name)
	if found != nil && found.ObservedGeneration != 0 && found.ObservedGeneration < o.GetGeneration() {
		return nil
	}
	return found
}
