package kinds

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/objects"
)

// Source is a set of objects that can be listed and followed.
type Source struct {
	Kind *Kind
	objects.Set
	// Keep leaves objects out that the server cannot leave out; nil keeps all.
	Keep func(client.Object) bool
}

// In returns the source of the organization's objects of a kind, without those that all organizations share.
func In(e *connection.Env, n *Kind) Source {
	s := Source{Kind: n, Set: objects.Set{Kind: n.Kind}}
	if n.Scope() != rest.ScopeInstallation {
		s.Organization = e.Organization()
	}
	return s
}

// Sources are where objects of a kind are looked for, nearest first.
func Sources(e *connection.Env, n *Kind, everywhere bool) []Source {
	own := In(e, n)
	if everywhere {
		own.Organization = ""
	}
	if everywhere || n.Scope() != rest.ScopeShared {
		return []Source{own}
	}
	shared := own
	shared.Shared = true
	return []Source{own, shared}
}

// Shared says whether an object is one that all organizations share.
func Shared(o client.Object) bool { return o.GetNamespace() == v1alpha1.SystemNamespace }

// Fetch lists a source, sorted by namespace and name.
func Fetch(ctx context.Context, c *objects.Client, s Source) ([]client.Object, error) {
	all, err := c.List(ctx, s.Set)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", s.Kind.Plural, err)
	}
	all = slices.DeleteFunc(all, func(o client.Object) bool { return s.Keep != nil && !s.Keep(o) })
	slices.SortStableFunc(all, ByName)
	return all, nil
}

// ByName orders objects by namespace and name.
func ByName(a, b client.Object) int {
	return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
}
