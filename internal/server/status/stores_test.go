//go:build linux

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestFullStores: the status names the store, the cause and the remedy, and is silent about those that are well.
func TestFullStores(t *testing.T) {
	store := func(name string, conditions ...metav1.Condition) v1alpha1.DataStore {
		ds := v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: name}}
		ds.Status.Conditions = conditions
		return ds
	}
	nearly := func(status metav1.ConditionStatus) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionNearlyFull, Status: status, Reason: v1alpha1.ReasonSpaceScarce, Message: "delete objects"}
	}
	connected := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionConnected, Status: status, Reason: reason, Message: "etcd has raised NOSPACE"}
	}
	got := fullStores([]v1alpha1.DataStore{
		store("new"),
		store("well", connected(metav1.ConditionTrue, v1alpha1.ReasonConnected), nearly(metav1.ConditionFalse)),
		store("nearly", connected(metav1.ConditionTrue, v1alpha1.ReasonConnected), nearly(metav1.ConditionTrue)),
		store("full", connected(metav1.ConditionFalse, v1alpha1.ReasonAlarm), nearly(metav1.ConditionTrue)),
		store("away", connected(metav1.ConditionFalse, v1alpha1.ReasonUnreachable)),
	})
	want := []string{"data store nearly is nearly full: delete objects", "data store full is full: etcd has raised NOSPACE"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got\n%s", d)
	}
}
