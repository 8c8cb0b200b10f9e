package objects

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// quotas are what organizations may have.
type quotas struct {
	limits *organization.Limits
	rights *rights.Rights
}

func (h *quotas) register(api huma.API) {
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/quota", "getQuota", "Show an organization's quota and its use", "Organizations"), h.getQuota)
}

func (h *quotas) getQuota(ctx context.Context, in *chain.InOrganization) (*chain.Answer[rest.Quota], error) {
	o, err := h.rights.Organization(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	if err := h.rights.Require(ctx, rights.Act{Verb: "get", Resource: "organizations", Name: o.Name}); err != nil {
		return nil, err
	}
	used, err := h.limits.Use(ctx, o.OwnedNamespace())
	if err != nil {
		return nil, problem.Explain(err)
	}
	quota := ptr.Deref(o.Spec.Quota, v1alpha1.Quota{})
	machines := ptr.Deref(quota.Machines, v1alpha1.MachineQuota{})
	return &chain.Answer[rest.Quota]{Body: rest.Quota{
		Clusters: rest.Use{Used: used.Clusters, Limit: limitOf(quota.Clusters)},
		Nodes:    rest.Use{Used: used.Nodes, Limit: limitOf(quota.Nodes)},
		Machines: rest.MachinesUse{
			Local:  rest.Use{Used: used.Local, Limit: limitOf(machines.Local)},
			Manual: rest.Use{Used: used.Manual, Limit: limitOf(machines.Manual)},
		},
		CPU:    rest.UseOfQuantity{Used: organization.CPUText(used.CPU), Limit: quantityOf(quota.CPU)},
		Memory: rest.UseOfQuantity{Used: organization.BytesText(used.Memory), Limit: quantityOf(quota.Memory)},
		Store:  rest.UseOfQuantity{Used: organization.StoreText(used.Store), Limit: quantityOf(quota.Store)},
	}}, nil
}

func quantityOf(q *resource.Quantity) string {
	if q == nil {
		return ""
	}
	return q.String()
}

func limitOf(n *int32) *int64 {
	if n == nil {
		return nil
	}
	return ptr.To(int64(*n))
}
