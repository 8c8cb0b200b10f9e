package cli

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

// source is a set of objects that can be listed and watched.
type source struct {
	noun *noun
	// namespace; empty for all, or for a noun that has none.
	namespace string
	options   []client.ListOption
	// keep leaves objects out that the API server cannot leave out; nil keeps all.
	keep func(client.Object) bool
}

// fetch lists a source, sorted by namespace and name.
func fetch(ctx context.Context, c client.Client, s source) ([]client.Object, error) {
	list := s.noun.list()
	options := append([]client.ListOption{client.InNamespace(s.namespace)}, s.options...)
	if err := c.List(ctx, list, options...); err != nil {
		return nil, fmt.Errorf("list %s: %w", s.noun.plural, err)
	}
	var all []client.Object
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("list %s: a %T is among them", s.noun.plural, item)
		}
		if s.keep != nil && !s.keep(object) {
			return nil
		}
		all = append(all, object)
		return setKind(c, object)
	})
	slices.SortStableFunc(all, byName)
	return all, err
}

func byName(a, b client.Object) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}

// setKind writes an object's kind into it, which decoding leaves out and printing needs.
func setKind(c client.Client, object client.Object) error {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}
