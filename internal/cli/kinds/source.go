package kinds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Source is a set of objects that can be listed and watched.
type Source struct {
	Kind *Kind
	// Namespace is where they live; empty for all, or for a kind that has none.
	Namespace string
	Options   []client.ListOption
	// Keep leaves objects out that the API server cannot leave out; nil keeps all.
	Keep func(client.Object) bool
}

// Fetch lists a source, sorted by namespace and name.
func Fetch(ctx context.Context, c client.Client, s Source) ([]client.Object, error) {
	list := s.Kind.List()
	options := append([]client.ListOption{client.InNamespace(s.Namespace)}, s.Options...)
	if err := c.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %s: %w", s.Kind.Plural, err)
	}
	var all []client.Object
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("list %s: a %T is among them", s.Kind.Plural, item)
		}
		if s.Keep != nil && !s.Keep(object) {
			return nil
		}
		all = append(all, object)
		return SetKind(c, object)
	})
	slices.SortStableFunc(all, ByName)
	return all, err
}

// ByName orders objects by namespace and name.
func ByName(a, b client.Object) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// SetKind writes an object's kind into it, which decoding leaves out and printing needs.
func SetKind(c client.Client, object client.Object) error {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}
