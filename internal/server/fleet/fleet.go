// Package fleet answers questions about what runs in all clusters over the REST API: images, containers, versions, nodes,
// workloads, certificates and findings, now and before. The rows are those of a store, as package inventory keeps them. Three questions
// are about one cluster, and are asked of it while the caller waits: what belongs to what in it, what of it is used, and what its upgrade
// would be.
//
// It hides which clusters a caller may ask about, which the API server of the admin plane says organization by organization, and
// how rows become pages, CSV and CycloneDX. What runs in clusters is written by their tenants: no text of theirs becomes a formula of a
// spreadsheet or a control sequence of a terminal. Package server alone imports it.
package fleet

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/platform/share"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// Rows are what was observed, each at one time.
type Rows interface {
	Images(context.Context, inventory.Filter) (inventory.Page[inventory.ImageRow], error)
	Containers(context.Context, inventory.Filter) (inventory.Page[inventory.ContainerRow], error)
	Binaries(context.Context, inventory.Filter) (inventory.Page[inventory.BinaryRow], error)
	BinaryPlaces(context.Context, inventory.Filter) (inventory.Page[inventory.ItemRow], error)
	Items(context.Context, inventory.Kind, inventory.Filter) (inventory.Page[inventory.ItemRow], error)
}

// Comparisons are what changed between two times, and what is concluded.
type Comparisons interface {
	ImagesBetween(ctx context.Context, f inventory.Filter, from, to time.Time) (inventory.Page[inventory.Change[inventory.ImageRow]], error)
	BinariesBetween(ctx context.Context, f inventory.Filter, from, to time.Time) (inventory.Page[inventory.Change[inventory.BinaryRow]], error)
	Clusters(context.Context, inventory.Filter) ([]inventory.ClusterState, error)
	Findings(context.Context, inventory.Filter) (inventory.Page[inventory.Finding], error)
}

// Store is where answers come from; both parts are the same *inventory.Store in an installation. It reads nothing outside of a
// filter's scope.
type Store struct {
	Rows
	Comparisons
}

// Config is what the operations stand on.
type Config struct {
	// Store is nil where no inventory is kept.
	Store *Store
	// Callers makes each call as the caller that its context names.
	Callers client.Client
	Rights  *rights.Rights
	Reach   Reach
	// DryRun says what an upgrade of a cluster would be.
	DryRun DryRun
	Now    func() time.Time
}

type handler struct {
	store   *Store
	allow   allowing
	now     func() time.Time
	exports exports
}

// Register adds the operations to an API.
func Register(api huma.API, c Config) {
	h := &handler{store: c.Store, allow: c.Rights.Allows, now: c.Now}
	(&live{c.Callers, c.Rights, c.Reach, c.DryRun, c.Now, share.New(questionsOfAll, questionsOfOne, sureOfOne)}).register(api)
	h.registerImages(api)
	h.registerBinaries(api)
	h.registerItems(api)
	huma.Register(api, operation[rest.InventoryCluster](api, http.MethodGet, "/inventory/clusters", "listInventoryClusters",
		"List the clusters that are known, and as of when each is"), h.clusters)
}

// operation describes an operation that answers with rows of a type.
func operation[T any](api huma.API, method, path, id, summary string, more ...string) huma.Operation {
	o := chain.Operation(method, path, id, summary, "Inventory")
	page := api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[rest.InventoryPage[T]](), true, "")
	text := &huma.Schema{Type: huma.TypeString}
	content := map[string]*huma.MediaType{mediaJSON: {Schema: page}, mediaCSV: {Schema: text}}
	for _, media := range more {
		content[media] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeObject}}
	}
	o.Responses = map[string]*huma.Response{"200": {
		Description: "A page, or as text/csv all rows. The header " + rest.HeaderInventoryAsOf + " has the numbers of asOf.", Content: content,
	}}
	return o
}

// ask says what is to be answered: a filter within what the caller may see, and a format.
func (h *handler) ask(ctx context.Context, w *Where, f inventory.Filter, format string) (a asked, err error) {
	known := chain.Of(ctx)
	known.Object = chain.Object{Kind: "Inventory"}
	f.Scope, err = reach(ctx, known.Caller, w.Organizations, h.allow)
	if err != nil {
		return a, err
	}
	if err := w.into(&f, h.now()); err != nil {
		return a, err
	}
	if h.store == nil {
		return a, problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, "the inventory is not kept here")
	}
	return asked{
		filter: f, format: format, nothing: !f.Scope.All && len(f.Scope.Organizations) == 0,
		begin: func(ctx context.Context) error { return h.exports.begin(ctx, known.Caller.Name) },
	}, nil
}

type clustersInput struct {
	Where
	Format
}

func (h *handler) clusters(ctx context.Context, in *clustersInput) (*output, error) {
	if in.Cursor != "" {
		return nil, refused("cursor", "clusters are on one page")
	}
	a, err := h.ask(ctx, &in.Where, inventory.Filter{}, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.readClusters, toClusterRow, clusterTable)
}

// readClusters reads all clusters as one page.
func (h *handler) readClusters(ctx context.Context, f inventory.Filter) (inventory.Page[inventory.ClusterState], error) {
	states, err := h.store.Clusters(ctx, f)
	return inventory.Page[inventory.ClusterState]{Rows: states, AsOf: states}, err
}
