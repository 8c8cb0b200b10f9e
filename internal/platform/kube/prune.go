package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Prune deletes the objects of some kinds that have a label and are not kept, kind after kind, and what belongs to them. A kind
// that the cluster does not have is passed over. Each call is bounded by [CallDeadline].
//
// The first object that cannot be deleted ends it, and the error names that object. It does not wait until objects are gone.
func Prune(ctx context.Context, c client.Client, kinds []schema.GroupVersionKind, label string, keep func(*metav1.PartialObjectMetadata) bool) error {
	for _, kind := range kinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := labelled(ctx, c, list, label); err != nil {
			if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				continue
			}
			return fmt.Errorf("list what is labelled %s, of kind %s: %w", label, kind.Kind, err)
		}
		for i := range list.Items {
			object := &list.Items[i]
			object.SetGroupVersionKind(kind)
			if keep(object) {
				continue
			}
			if err := remove(ctx, c, object); err != nil {
				return err
			}
		}
	}
	return nil
}

// Remove deletes those of the objects that are there and of which the caller says so. Each call is bounded by [CallDeadline], and
// the first object that cannot be deleted ends it.
func Remove(ctx context.Context, c client.Client, objects []client.Object, really func(*metav1.PartialObjectMetadata) bool) error {
	for _, o := range objects {
		there := &metav1.PartialObjectMetadata{}
		there.SetGroupVersionKind(o.GetObjectKind().GroupVersionKind())
		err := get(ctx, c, client.ObjectKeyFromObject(o), there)
		switch {
		case apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		case err != nil:
			return fmt.Errorf("look at %s: %w", nameOf(c, o), err)
		case really(there):
			if err := remove(ctx, c, there); err != nil {
				return err
			}
		}
	}
	return nil
}

func get(ctx context.Context, c client.Client, key client.ObjectKey, into client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, CallDeadline)
	defer cancel()
	return c.Get(ctx, key, into)
}

func labelled(ctx context.Context, c client.Client, list client.ObjectList, label string) error {
	ctx, cancel := context.WithTimeout(ctx, CallDeadline)
	defer cancel()
	return c.List(ctx, list, client.HasLabels{label})
}

func remove(ctx context.Context, c client.Client, object client.Object) error {
	if !object.GetDeletionTimestamp().IsZero() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallDeadline)
	defer cancel()
	uid := object.GetUID()
	err := c.Delete(ctx, object, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // a conflict: it is another one by now, which is looked at next time
		return nil
	}
	return fmt.Errorf("delete %s: %w", nameOf(c, object), err)
}
