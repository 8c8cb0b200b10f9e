// Package catalogue serves the addons over the REST API: what they are, and how each is set in a cluster and by whom. It hides
// how settings come together, which package addons says. They are changed as any field of a Cluster is.
package catalogue

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
	"kqueen.io/kqueen/internal/workers/addons"
)

// Addons knows those of this installation, as prepare.Preparer does.
type Addons interface {
	// Offer are the images that they have in clusters.
	Offer() addons.Images
	// Settled says how each is to be in a cluster.
	Settled(context.Context, *v1alpha1.Cluster) ([]addons.Settled, error)
}

type handler struct {
	callers client.Client
	rights  *rights.Rights
	addons  Addons
}

// Register adds the operations to an API. callers makes each call as the caller that its context names.
func Register(api huma.API, callers client.Client, r *rights.Rights, a Addons) {
	h := &handler{callers, r, a}
	const tag = "Addons"
	huma.Register(api, chain.Operation(http.MethodGet, "/addons", "listAddons", "List the addons that clusters can have", tag), h.listAddons)
	huma.Register(api, chain.Operation(http.MethodGet, "/organizations/{organization}/clusters/{cluster}/addons", "listClusterAddons",
		"List how each addon is set in a cluster, by whom, and how it is", tag), h.listClusterAddons)
}

func (h *handler) listAddons(context.Context, *struct{}) (*chain.Answer[rest.Page[rest.Addon]], error) {
	images := h.addons.Offer()
	page := rest.Page[rest.Addon]{Items: []rest.Addon{}}
	for _, a := range addons.Catalogue() {
		shown := rest.Addon{
			Name: a.Name, Summary: a.Summary, Default: a.Default, Version: a.Version(images), CNI: a.CNI, Kubernetes: a.Kubernetes,
			ValuesSchema: a.Schema,
		}
		for _, use := range a.Uses {
			shown.Uses = append(shown.Uses, rest.AddonUse(use))
		}
		page.Items = append(page.Items, shown)
	}
	return &chain.Answer[rest.Page[rest.Addon]]{Body: page}, nil
}

type clusterInput struct {
	chain.InOrganization
	Cluster string `path:"cluster" maxLength:"253"`
}

func (h *handler) listClusterAddons(ctx context.Context, in *clusterInput) (*chain.Answer[rest.Page[rest.ClusterAddon]], error) {
	c, err := h.cluster(ctx, in)
	if err != nil {
		return nil, err
	}
	settled, err := h.addons.Settled(ctx, c)
	if err != nil {
		return nil, problem.Explain(err)
	}
	return &chain.Answer[rest.Page[rest.ClusterAddon]]{Body: rest.Page[rest.ClusterAddon]{Items: inCluster(settled, c.Status.Addons)}}, nil
}

// cluster is the cluster, when the caller may see it.
func (h *handler) cluster(ctx context.Context, in *clusterInput) (*v1alpha1.Cluster, error) {
	c := &v1alpha1.Cluster{}
	return c, h.rights.Object(ctx, h.callers, in.Organization, "get", "clusters", in.Cluster, c)
}

// inCluster joins how addons are to be and how they are. What the cluster is not to have any more and still has is shown as it is. It
// is pure.
func inCluster(settled []addons.Settled, seen []v1alpha1.AddonStatus) []rest.ClusterAddon {
	are := map[string]v1alpha1.AddonStatus{}
	for _, s := range seen {
		are[s.Name] = s
	}
	all := make([]rest.ClusterAddon, 0, len(settled))
	for _, s := range settled {
		is := are[s.Name]
		all = append(all, rest.ClusterAddon{
			Name: s.Name, Enabled: s.Enabled, From: source(s), Values: s.Values, Version: is.Version, State: is.State, Message: is.Message,
		})
	}
	return all
}

// source is who sets an addon, as the API calls it.
func source(s addons.Settled) string {
	switch {
	case s.CNI != "":
		return "cni"
	case s.From == addons.FromCluster:
		return "cluster"
	case s.From == addons.FromOrganization:
		return "organization"
	case s.From == addons.FromProvisioner:
		return "provisioner"
	}
	return "catalogue"
}
