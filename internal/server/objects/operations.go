package objects

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// operations are the work that goes on, as the conditions of objects have it.
type operations struct {
	cache   client.Reader
	rights  *rights.Rights
	cursors cursors
}

func (h *operations) register(api huma.API) {
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/operations", "listOperations",
		"List what is being done now, what began last first", "Operations"), h.listOperations)
}

// OperationQuery says which operations.
type OperationQuery struct {
	Limit   int    `query:"limit" default:"100" minimum:"1" maximum:"500" doc:"How many at most."`
	Cursor  string `query:"cursor" maxLength:"1024" doc:"Where to go on: the cursor of the page before, with the same other parameters."`
	Kind    string `query:"kind" enum:"Cluster,NodePool,Machine,Upgrade,Rehearsal,Backup,Restore,Rotation" doc:"Only work on objects of this kind."`
	Cluster string `query:"cluster" maxLength:"253" doc:"Only work on the cluster of this name and what belongs to it."`
	State   string `query:"state" enum:"Running,Retrying,Stalled" doc:"Only work that is in this state."`
}

type operationsInput struct {
	chain.InOrganization
	OperationQuery
}

func (q OperationQuery) wants(op *rest.Operation) bool {
	return op != nil && (q.Cluster == "" || q.Cluster == op.Cluster) && (q.State == "" || q.State == op.State)
}

// worked are the kinds on which work goes on.
func worked(only string) []kind {
	return slices.DeleteFunc(kinds(), func(k kind) bool {
		return !slices.Contains(rest.KindsOfOperations(), k.Name) || only != "" && only != k.Name
	})
}

// listOperations looks at the conditions of what the caller may list: there is no other record of what goes on.
func (h *operations) listOperations(ctx context.Context, in *operationsInput) (*chain.Answer[rest.Page[rest.Operation]], error) {
	o, err := h.rights.Organization(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	scope := strings.Join([]string{chain.Of(ctx).Caller.Name, "operations/" + in.Organization, in.Kind, in.Cluster, in.State}, "\x00")
	after, err := h.cursors.decode(scope, in.Cursor)
	if err != nil {
		return nil, err
	}
	var found []placedOperation
	for _, k := range worked(in.Kind) {
		if err := h.rights.Require(ctx, rights.Act{Verb: "list", Resource: k.Plural, Namespace: o.OwnedNamespace()}); err != nil {
			return nil, err
		}
		list := k.list()
		if err := h.cache.List(ctx, list, client.InNamespace(o.OwnedNamespace()), client.UnsafeDisableDeepCopy); err != nil {
			return nil, problem.Explain(err)
		}
		err := apimeta.EachListItem(list, func(item runtime.Object) error {
			op := operationOf(k.Name, item.(operator.Object))
			if !in.wants(op) {
				return nil
			}
			p := placedOperation{place{Name: k.Name + "/" + op.Object.Name}, *op}
			if op.LastTransitionAt != nil {
				p.Created = op.LastTransitionAt.UnixMicro()
			}
			if after == nil || p.compare(*after) < 0 {
				found = append(found, p)
			}
			return nil
		})
		if err != nil {
			return nil, problem.Explain(err)
		}
	}
	slices.SortFunc(found, func(a, b placedOperation) int { return b.compare(a.place) })
	out := rest.Page[rest.Operation]{Items: make([]rest.Operation, 0, min(len(found), in.Limit))}
	for _, p := range found[:min(len(found), in.Limit)] {
		out.Items = append(out.Items, p.operation)
	}
	if len(found) > in.Limit {
		if out.Cursor, err = h.cursors.encode(scope, found[in.Limit-1].place); err != nil {
			return nil, problem.Explain(err)
		}
	}
	return &chain.Answer[rest.Page[rest.Operation]]{Body: out}, nil
}

type placedOperation struct {
	place

	operation rest.Operation
}
