package controlplane

import (
	"errors"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/operator"
)

// TestSpace: a data store says how full it is as its gate acts on it, with what helps, and nothing where there always was enough.
func TestSpace(t *testing.T) {
	ds := &v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: "default", Generation: 3}}
	told, failed := storegate.Usage{}, error(nil)
	gate := &Gate{Usage: func() (storegate.Usage, error) { return told, failed }}
	r := &dataStoreReconciler{gates: FixedGates{"default": gate}}
	for _, step := range []struct {
		left   storegate.Level
		err    error
		status metav1.ConditionStatus
		reason string
	}{
		{storegate.Enough, nil, "", ""},
		{storegate.Scarce, nil, metav1.ConditionTrue, v1alpha1.ReasonSpaceScarce},
		{storegate.Enough, errors.New("the file is damaged"), metav1.ConditionTrue, v1alpha1.ReasonSpaceScarce},
		{storegate.Last, nil, metav1.ConditionTrue, v1alpha1.ReasonSpaceLast},
		{storegate.Enough, nil, metav1.ConditionFalse, v1alpha1.ReasonSpaceEnough},
	} {
		told.Left, failed = step.left, step.err
		r.noteSpace(t.Context(), ds)
		c := apimeta.FindStatusCondition(ds.Status.Conditions, v1alpha1.ConditionNearlyFull)
		if step.status == "" {
			if c != nil {
				t.Errorf("there was always enough, and it says %+v", c)
			}
			continue
		}
		if c == nil || c.Status != step.status || c.Reason != step.reason || c.ObservedGeneration != 3 {
			t.Fatalf("%d, %v: %+v, want %s, %s", step.left, step.err, c, step.status, step.reason)
		}
		if c.Status == metav1.ConditionTrue && !strings.Contains(c.Message, "delete objects in the largest control planes") {
			t.Errorf("%s does not say what helps: %s", c.Reason, c.Message)
		}
	}
	other := &v1alpha1.DataStore{ObjectMeta: metav1.ObjectMeta{Name: "second"}}
	r.noteSpace(t.Context(), other) // it has no gate
	if len(other.Status.Conditions) > 0 {
		t.Errorf("a store without a gate says %v", other.Status.Conditions)
	}
}

// TestHealthOutcome: an etcd that has raised an alarm takes no writes, and is not connected, though it answers.
func TestHealthOutcome(t *testing.T) {
	full := datastore.Health{Version: "3.7.0", Alarms: []string{"NOSPACE on member 8e9e"}, DBInUseBytes: 3 << 20, QuotaBytes: 4 << 20}
	if got, want := healthOutcome(full), operator.Wait(v1alpha1.ReasonAlarm, alarmed(full), storeCheckInterval); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, want := range []string{"NOSPACE on member 8e9e", "3 of 4 MiB", "delete objects"} {
		if got := alarmed(full); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	half := datastore.Health{Version: "3.7.0", Silent: []string{"https://b:2379"}}
	want := operator.DoneUntil(v1alpha1.ReasonConnected, "etcd 3.7.0 answers; members that do not: https://b:2379", storeCheckInterval)
	if got := healthOutcome(half); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
