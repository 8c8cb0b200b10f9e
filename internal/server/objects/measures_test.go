package objects

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

func TestStateOf(t *testing.T) {
	is := func(kind string, status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status}
	}
	upgrade := func(conditions ...metav1.Condition) *v1alpha1.Upgrade {
		return &v1alpha1.Upgrade{
			ObjectMeta: metav1.ObjectMeta{Name: "u", Generation: 1},
			Status:     v1alpha1.UpgradeStatus{Status: v1alpha1.Status{ObservedGeneration: 1, Conditions: conditions}},
		}
	}
	for want, o := range map[string]operator.Object{
		"ready":     upgrade(is("Ready", "True"), is("Reconciling", "False"), is("Stalled", "False")),
		"not_ready": upgrade(is("Ready", "False"), is("Reconciling", "False"), is("Stalled", "False")),
		"running":   upgrade(is("Ready", "False"), is("Reconciling", "True")),
		"retrying":  upgrade(is("Ready", "False"), metav1.Condition{Type: "Reconciling", Status: "True", Reason: v1alpha1.ReasonRetrying}),
		"stalled":   upgrade(is("Ready", "False"), is("Stalled", "True")),
	} {
		if got := stateOf("Upgrade", o); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := stateOf("Upgrade", &v1alpha1.Upgrade{ObjectMeta: metav1.ObjectMeta{Generation: 1}}); got != "running" {
		t.Errorf("one that no controller has looked at is %s", got)
	}
}
