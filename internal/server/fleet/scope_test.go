package fleet

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// grants answers as an API server that lets the caller list the inventory in these namespaces; "" is all of them.
func grants(namespaces ...string) allowing {
	return func(_ context.Context, a rights.Act) (bool, error) {
		if a.Verb != "list" || a.Resource != "inventory" || a.Group != "" || a.Subresource != "" || a.Name != "" {
			return false, errors.New("another question")
		}
		return slices.Contains(namespaces, a.Namespace), nil
	}
}

func roles(organizations ...string) map[string]v1alpha1.Role {
	all := map[string]v1alpha1.Role{}
	for _, o := range organizations {
		all[o] = v1alpha1.RoleViewer
	}
	return all
}

func TestReach(t *testing.T) {
	outage := func(context.Context, rights.Act) (bool, error) { return false, problem.Unasked(errors.New("away")) }
	for name, tc := range map[string]struct {
		caller chain.Caller
		named  []string
		allow  allowing
		want   inventory.Scope
		status int
	}{
		"Own":              {chain.Caller{Roles: roles("red", "blue")}, nil, grants("org-blue", "org-red"), inventory.Scope{Organizations: []string{"blue", "red"}}, 0},
		"OneRevoked":       {chain.Caller{Roles: roles("red", "blue")}, nil, grants("org-red", "org-green"), inventory.Scope{Organizations: []string{"red"}}, 0},
		"None":             {chain.Caller{}, nil, grants("org-blue"), inventory.Scope{}, 0},
		"Narrowed":         {chain.Caller{Roles: roles("red", "blue")}, []string{"blue", "blue"}, grants("org-blue", "org-red"), inventory.Scope{Organizations: []string{"blue"}}, 0},
		"NamedForeign":     {chain.Caller{Roles: roles("blue")}, []string{"red"}, grants("org-blue", "org-red"), inventory.Scope{}, http.StatusNotFound},
		"NamedForeignToo":  {chain.Caller{Roles: roles("blue")}, []string{"blue", "red"}, grants("org-blue", "org-red"), inventory.Scope{}, http.StatusNotFound},
		"NamedRevoked":     {chain.Caller{Roles: roles("blue")}, []string{"blue"}, grants(), inventory.Scope{}, http.StatusForbidden},
		"Admin":            {chain.Caller{Admin: true}, nil, grants(""), inventory.Scope{All: true}, 0},
		"AdminNarrowed":    {chain.Caller{Admin: true}, []string{"gone"}, grants(""), inventory.Scope{Organizations: []string{"gone"}}, 0},
		"AdminMayNot":      {chain.Caller{Admin: true, Roles: roles("blue")}, nil, grants("org-blue"), inventory.Scope{Organizations: []string{"blue"}}, 0},
		"AdminMayNotNamed": {chain.Caller{Admin: true}, []string{"red"}, grants(), inventory.Scope{}, http.StatusNotFound},
		"Outage":           {chain.Caller{Roles: roles("blue")}, nil, outage, inventory.Scope{}, http.StatusServiceUnavailable},
		"AdminOutage":      {chain.Caller{Admin: true}, nil, outage, inventory.Scope{}, http.StatusServiceUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := reach(t.Context(), tc.caller, tc.named, tc.allow)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("scope (-want +got):\n%s", diff)
			}
			if status := statusOf(err); status != tc.status {
				t.Errorf("got %v, want status %d", err, tc.status)
			}
		})
	}
}

func statusOf(err error) int {
	if err == nil {
		return 0
	}
	return problem.Of(err).Status
}

// TestReachIsWithin: whatever a caller belongs to, may and names, nothing is in their scope that they do not belong to, may not
// list, or have not named; and they are asked about nothing else.
func TestReachIsWithin(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func() []string {
		var all []string
		for n := range 6 {
			if random.IntN(2) == 0 {
				all = append(all, fmt.Sprintf("o%d", n))
			}
		}
		return all
	}
	scopes := 0
	for range 5000 {
		belongs, granted, named := some(), some(), []string(nil)
		if random.IntN(2) == 0 {
			named = some()
		}
		var mu sync.Mutex
		var foreign []string
		allow := func(_ context.Context, a rights.Act) (bool, error) {
			organization := strings.TrimPrefix(a.Namespace, v1alpha1.NamespacePrefix)
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains(belongs, organization) {
				foreign = append(foreign, a.Namespace)
			}
			return slices.Contains(granted, organization), nil
		}
		scope, err := reach(t.Context(), chain.Caller{Roles: roles(belongs...)}, named, allow)
		if scope.All || len(foreign) > 0 || err != nil && len(scope.Organizations) > 0 {
			t.Fatalf("a member of %v who may in %v and names %v: %+v, %v, and it was asked about %v", belongs, granted, named, scope, err, foreign)
		}
		for _, o := range scope.Organizations {
			scopes++
			if !slices.Contains(belongs, o) || !slices.Contains(granted, o) || len(named) > 0 && !slices.Contains(named, o) {
				t.Fatalf("a member of %v who may in %v and names %v sees %s", belongs, granted, named, o)
			}
		}
		if err != nil {
			continue
		}
		for _, o := range belongs {
			wanted := slices.Contains(granted, o) && (len(named) == 0 || slices.Contains(named, o))
			if wanted != slices.Contains(scope.Organizations, o) {
				t.Fatalf("a member of %v who may in %v and names %v has %v", belongs, granted, named, scope.Organizations)
			}
		}
	}
	if scopes < 1000 {
		t.Errorf("only %d organizations were in scopes", scopes)
	}
}

// TestNoInventory: where none is kept, callers are told so, once it is known that they may ask.
func TestNoInventory(t *testing.T) {
	h := &handler{allow: grants(), now: time.Now}
	_, err := h.nodes(t.Context(), &nodesInput{})
	if p := problem.Of(err); p.Status != http.StatusServiceUnavailable || p.Detail != "the inventory is not kept here" {
		t.Errorf("got %v", err)
	}
	_, err = h.nodes(t.Context(), &nodesInput{Where: Where{Organizations: []string{"red"}}})
	if statusOf(err) != http.StatusNotFound {
		t.Errorf("of another organization: %v", err)
	}
}
