//go:build linux

package status

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// storeProblems are those of data stores that are full, or nearly so; none until the admin plane is ready.
func (s *Socket) storeProblems(ctx context.Context) []string {
	admin := s.Admin()
	if admin == nil {
		return nil
	}
	stores := &v1alpha1.DataStoreList{}
	if err := admin.List(ctx, stores); err != nil {
		s.Log.Warn("list data stores for the status", "error", err)
		return nil
	}
	return fullStores(stores.Items)
}

// fullStores says of each data store that takes no more, or not all, what its own status says. It is pure.
func fullStores(all []v1alpha1.DataStore) []string {
	var problems []string
	for i := range all {
		conditions := all[i].Status.Conditions
		if c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionConnected); c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonAlarm {
			problems = append(problems, fmt.Sprintf("data store %s is full: %s", all[i].Name, c.Message))
			continue
		}
		if c := apimeta.FindStatusCondition(conditions, v1alpha1.ConditionNearlyFull); c != nil && c.Status == metav1.ConditionTrue {
			problems = append(problems, fmt.Sprintf("data store %s is nearly full: %s", all[i].Name, c.Message))
		}
	}
	return problems
}
