package server

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

func (s *Server) registerOrganization() {
	huma.Register(s.api, operation(http.MethodGet, "/organizations/{organization}/quota", "getQuota", "What an organization may have, and what it has", "Organizations"), s.getQuota)
}

// organization returns an organization of the caller's. To whoever does not belong there, there is none.
func (s *Server) organization(ctx context.Context, name string) (*v1alpha1.Organization, error) {
	o := &v1alpha1.Organization{}
	err := s.Cache.Get(ctx, client.ObjectKey{Name: name}, o)
	if apierrors.IsNotFound(err) || err == nil && !requestOf(ctx).caller.belongs(name) {
		return nil, notFound()
	}
	if err != nil {
		return nil, explain(err)
	}
	requestOf(ctx).object.organization = name
	return o, nil
}

func (s *Server) getQuota(ctx context.Context, in *InOrganization) (*ok[rest.Quota], error) {
	o, err := s.organization(ctx, in.Organization)
	if err != nil {
		return nil, err
	}
	if err := s.mayHere(ctx, "get", "organizations", "", "", o.Name); err != nil {
		return nil, err
	}
	used, err := s.Limits.Use(ctx, o.OwnedNamespace())
	if err != nil {
		return nil, explain(err)
	}
	quota := ptr.Deref(o.Spec.Quota, v1alpha1.Quota{})
	return &ok[rest.Quota]{Body: rest.Quota{
		Clusters: rest.Use{Used: used.Clusters, Limit: limitOf(quota.Clusters)},
		Nodes:    rest.Use{Used: used.Nodes, Limit: limitOf(quota.Nodes)},
		CPU:      rest.UseOfQuantity{Used: organization.CPUText(used.CPU), Limit: quantityOf(quota.CPU)},
		Memory:   rest.UseOfQuantity{Used: organization.BytesText(used.Memory), Limit: quantityOf(quota.Memory)},
		Store:    rest.UseOfQuantity{Used: organization.StoreText(used.Store), Limit: quantityOf(quota.Store)},
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
