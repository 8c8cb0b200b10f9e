//go:build linux

package app

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
	"kqueen.io/kqueen/internal/platform/operator"
)

// waitReady waits until every provisioner and organization was looked at, so that whoever is told
// that KQueen is ready can create a cluster.
func waitReady(ctx context.Context, c client.WithWatch) error {
	for _, list := range []client.ObjectList{&v1alpha1.ProvisionerList{}, &v1alpha1.OrganizationList{}, &v1alpha1.ReleaseList{}, &v1alpha1.DataStoreList{}} {
		if err := waitLooked(ctx, c, list); err != nil {
			return err
		}
	}
	return nil
}

// waitLooked waits until every object of a kind has a Ready condition for its present spec. What is being deleted is not
// waited for: whoever holds its last finalizer may never let it go.
func waitLooked(ctx context.Context, c client.WithWatch, list client.ObjectList) error {
	if err := c.List(ctx, list); err != nil {
		return fmt.Errorf("list %T: %w", list, err)
	}
	pending := map[types.UID]bool{}
	err := apimeta.EachListItem(list, func(o runtime.Object) error {
		if obj, ok := o.(operator.Object); ok && !looked(obj) {
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
		if obj, ok := event.Object.(operator.Object); ok && (event.Type == watch.Deleted || looked(obj)) {
			delete(pending, obj.GetUID())
		}
		if len(pending) == 0 {
			return nil
		}
	}
	return fmt.Errorf("wait for %T: the watch ended: %w", list, context.Cause(ctx))
}

// looked says whether a reconciler has judged the object's present spec, whatever it found, or need not any more.
func looked(o operator.Object) bool {
	status := o.Shared()
	return o.GetDeletionTimestamp() != nil || status.ObservedGeneration == o.GetGeneration() &&
		apimeta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady) != nil
}
