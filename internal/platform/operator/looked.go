package operator

import (
	"context"
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// WaitLooked waits until every object of a kind has a Ready condition for its present spec. It does not wait for what is
// being deleted: a controller that holds its last finalizer may never let it go.
func WaitLooked(ctx context.Context, c client.WithWatch, list client.ObjectList) error {
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	pending := map[types.UID]bool{}
	err := apimeta.EachListItem(list, func(o runtime.Object) error {
		if obj, ok := o.(Object); ok && !looked(obj) {
			pending[obj.GetUID()] = true
		}
		return nil
	})
	if err != nil || len(pending) == 0 {
		return err
	}
	// From the list on: what went away between the two would never be heard of.
	w, err := c.Watch(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	if err != nil {
		return fmt.Errorf("watch %T: %w", list, err)
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if obj, ok := event.Object.(Object); ok && (event.Type == watch.Deleted || looked(obj)) {
			delete(pending, obj.GetUID())
		}
		if len(pending) == 0 {
			return nil
		}
	}
	return fmt.Errorf("wait for %T: the watch ended: %w", list, context.Cause(ctx))
}

// looked says whether a reconciler has judged the object's present spec, whatever it found, or need not any more.
func looked(o Object) bool {
	status := o.Shared()
	return o.GetDeletionTimestamp() != nil || status.ObservedGeneration == o.GetGeneration() &&
		apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady) != nil
}
