package fleet

import (
	"context"
	"maps"
	"slices"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// askedAtOnce bounds how many questions about organizations one request has at the API server.
const askedAtOnce = 16

// allowing says whether the caller of a context may do something. An error is never a refusal.
type allowing func(context.Context, rights.Act) (bool, error)

// reach is what a caller may ask about: each of their organizations in which the API server lets them list the inventory, or those
// of them that they name. A named one that does not exist for the caller is not found; where they name none, what they may not see is
// left out, and no error tells of it.
func reach(ctx context.Context, caller chain.Caller, named []string, allow allowing) (inventory.Scope, error) {
	if caller.Admin {
		everywhere, err := allow(ctx, rights.Act{Verb: "list", Resource: role.Inventory})
		if err != nil {
			return inventory.Scope{}, err
		}
		if everywhere && len(named) == 0 {
			return inventory.Scope{All: true}, nil
		}
		if everywhere { // also organizations that are gone: what ran in their clusters is still known
			return inventory.Scope{Organizations: slices.Compact(slices.Sorted(slices.Values(named)))}, nil
		}
	}
	candidates := slices.Sorted(maps.Keys(caller.Roles))
	if len(named) > 0 {
		candidates = slices.Compact(slices.Sorted(slices.Values(named)))
		for _, organization := range candidates {
			if caller.Roles[organization] == "" {
				return inventory.Scope{}, problem.NotFound()
			}
		}
	}
	may := make([]bool, len(candidates))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askedAtOnce)
	for i, organization := range candidates {
		group.Go(func() (err error) {
			may[i], err = allow(ctx, rights.Act{Verb: "list", Resource: role.Inventory, Namespace: v1alpha1.NamespacePrefix + organization})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return inventory.Scope{}, err
	}
	var scope inventory.Scope
	for i, organization := range candidates {
		if may[i] {
			scope.Organizations = append(scope.Organizations, organization)
		} else if len(named) > 0 {
			return inventory.Scope{}, problem.Forbidden(role.Needed("list", role.Inventory))
		}
	}
	return scope, nil
}
