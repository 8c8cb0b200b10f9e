package kube

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Apply makes the objects so, one after the other, by server-side apply. Fields that they name become the
// manager's, whichever manager had them before; all other fields keep their owner and their value. It deletes no
// object. Applying the same again changes nothing.
//
// The first object that is refused ends it, and the error names that object: those before it are applied.
// Each call is bounded by [CallDeadline]. The objects are not changed.
//
// An *unstructured.Unstructured is applied as it is written. Of a typed object the status and what is null
// are left out; a zero value that its JSON shows counts as wanted.
func Apply(ctx context.Context, c client.Client, objects []client.Object, manager string) error {
	for _, object := range objects {
		if err := applyOne(ctx, c, object, manager); err != nil {
			return fmt.Errorf("apply %s: %w", nameOf(c, object), err)
		}
	}
	return nil
}

func applyOne(ctx context.Context, c client.Client, object client.Object, manager string) error {
	want, err := intent(c, object)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, CallDeadline)
	defer cancel()
	return c.Apply(ctx, client.ApplyConfigurationFromUnstructured(want), client.FieldOwner(manager), client.ForceOwnership)
}

// intent returns a copy of the object as it is sent: with its kind, and without what only a server says.
func intent(c client.Client, object client.Object) (*unstructured.Unstructured, error) {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert: %w", err)
	}
	delete(content, "status")
	dropNulls(content)
	want := &unstructured.Unstructured{Object: content}
	want.SetGroupVersionKind(gvk)
	want.SetManagedFields(nil) // a server refuses an apply that has them
	want.SetResourceVersion("")
	return want, nil
}

// dropNulls removes what is null: older Go types write an unset time so.
func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, inner := range v {
			if inner == nil {
				delete(v, key)
				continue
			}
			dropNulls(inner)
		}
	case []any:
		for _, inner := range v {
			dropNulls(inner)
		}
	}
}

// nameOf names an object as a user reads it: "Deployment kube-system/coredns".
func nameOf(c client.Client, object client.Object) string {
	kind := fmt.Sprintf("%T", object)
	if gvk, err := c.GroupVersionKindFor(object); err == nil {
		kind = gvk.Kind
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return kind + " " + namespace + "/" + object.GetName()
	}
	return kind + " " + object.GetName()
}

// Hash returns a short text that is the same for the same objects in the same order, and another one for
// others, so that a caller can tell what it has applied already. It is 64 hexadecimal digits.
func Hash(objects []client.Object) (string, error) {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	for _, object := range objects {
		// A typed object may not carry its kind, and two kinds may look alike.
		if _, err := fmt.Fprintf(sum, "%T\n", object); err != nil {
			return "", err
		}
		if err := encoder.Encode(object); err != nil {
			return "", fmt.Errorf("hash %s %s/%s: %w", object.GetObjectKind().GroupVersionKind().Kind, object.GetNamespace(), object.GetName(), err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
