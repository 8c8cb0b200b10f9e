package fleet

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/server/problem"
)

func (h *handler) registerImages(api huma.API) {
	huma.Register(api, operation[rest.InventoryImage](api, http.MethodGet, "/inventory/images", "listInventoryImages",
		"List the images that run in clusters, or that appeared and vanished", mediaBOM), h.images)
	huma.Register(api, operation[rest.InventoryContainer](api, http.MethodGet, "/inventory/containers", "listInventoryContainers",
		"List the containers of clusters"), h.containers)
	huma.Register(api, operation[rest.InventoryContainer](api, http.MethodPost, "/inventory/containers/search", "searchInventoryContainers",
		"List the containers that run images of many digests"), h.search)
}

func (h *handler) registerBinaries(api huma.API) {
	huma.Register(api, operation[rest.InventoryBinary](api, http.MethodGet, "/inventory/binaries", "listInventoryBinaries",
		"List the versions of programs of Kubernetes that run in clusters, or that appeared and vanished"), h.binaries)
}

func (h *handler) registerItems(api huma.API) {
	huma.Register(api, operation[rest.InventoryNode](api, http.MethodGet, "/inventory/nodes", "listInventoryNodes", "List the nodes of clusters"), h.nodes)
	huma.Register(api, operation[rest.InventoryWorkload](api, http.MethodGet, "/inventory/workloads", "listInventoryWorkloads", "List the workloads of clusters"), h.workloads)
	huma.Register(api, operation[rest.InventoryCertificate](api, http.MethodGet, "/inventory/certificates", "listInventoryCertificates",
		"List the certificates that were seen in clusters"), h.certificates)
	huma.Register(api, operation[rest.InventoryFinding](api, http.MethodGet, "/inventory/findings", "listInventoryFindings",
		"List what deserves attention in clusters"), h.findings)
}

type imagesInput struct {
	Where
	Namespaced
	OfImage
	Between
	FormatWithBOM
}

func (h *handler) images(ctx context.Context, in *imagesInput) (*output, error) {
	f := inventory.Filter{Namespaces: in.Namespaces}
	if err := in.OfImage.into(&f); err != nil {
		return nil, err
	}
	two, err := in.times(in.At, h.now(), in.Cursor)
	if err != nil {
		return nil, err
	}
	a, err := h.ask(ctx, &in.Where, f, in.format())
	if err != nil {
		return nil, err
	}
	if two != nil {
		return answer(ctx, a, between(two, h.store.ImagesBetween), toImageChange, imageTable)
	}
	t := imageTable
	t.bom, t.now = bill, h.now
	return answer(ctx, a, h.store.Images, toImage, t)
}

type containersInput struct {
	Where
	Namespaced
	OfImage
	Format
}

func (h *handler) containers(ctx context.Context, in *containersInput) (*output, error) {
	f := inventory.Filter{Namespaces: in.Namespaces}
	if err := in.OfImage.into(&f); err != nil {
		return nil, err
	}
	a, err := h.ask(ctx, &in.Where, f, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.store.Containers, toContainer, containerTable)
}

type searchInput struct {
	Where
	Namespaced
	Format

	Body rest.InventorySearch
}

func (h *handler) search(ctx context.Context, in *searchInput) (*output, error) {
	for i, digest := range in.Body.Digests {
		if !isDigest(digest) {
			return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
				rest.FieldError{Pointer: "/digests/" + number(i), Detail: wantDigest})
		}
	}
	a, err := h.ask(ctx, &in.Where, inventory.Filter{Namespaces: in.Namespaces, Digests: in.Body.Digests}, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.store.Containers, toContainer, containerTable)
}

type binariesInput struct {
	Where
	OfComponent
	Between
	Format
}

func (h *handler) binaries(ctx context.Context, in *binariesInput) (*output, error) {
	var f inventory.Filter
	if err := in.OfComponent.into(&f); err != nil {
		return nil, err
	}
	two, err := in.times(in.At, h.now(), in.Cursor)
	if err != nil {
		return nil, err
	}
	if two != nil && in.Places {
		return nil, refused("places", "it cannot be given with from and to")
	}
	a, err := h.ask(ctx, &in.Where, f, in.format())
	if err != nil {
		return nil, err
	}
	switch {
	case two != nil:
		return answer(ctx, a, between(two, h.store.BinariesBetween), toBinaryChange, binaryTable)
	case in.Places:
		return answer(ctx, a, h.store.BinaryPlaces, toBinaryPlace, binaryPlaceTable)
	}
	return answer(ctx, a, h.store.Binaries, toBinary, binaryTable)
}

type nodesInput struct {
	Where
	Format
}

type namespacedInput struct {
	Where
	Namespaced
	Format
}

func (h *handler) nodes(ctx context.Context, in *nodesInput) (*output, error) {
	a, err := h.ask(ctx, &in.Where, inventory.Filter{}, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.items(inventory.KindNode), toNode, nodeTable)
}

func (h *handler) workloads(ctx context.Context, in *namespacedInput) (*output, error) {
	a, err := h.ask(ctx, &in.Where, inventory.Filter{Namespaces: in.Namespaces}, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.items(inventory.KindWorkload), toWorkload, workloadTable)
}

func (h *handler) certificates(ctx context.Context, in *namespacedInput) (*output, error) {
	a, err := h.ask(ctx, &in.Where, inventory.Filter{Namespaces: in.Namespaces}, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.items(inventory.KindCertificate), toCertificate, certificateTable)
}

type findingsInput struct {
	Where
	Namespaced
	Format
	Severities []inventory.Severity `query:"severity,explode" enum:"Critical,Warning,Info" maxItems:"3" doc:"Only findings of this severity; may be repeated."`
}

func (h *handler) findings(ctx context.Context, in *findingsInput) (*output, error) {
	a, err := h.ask(ctx, &in.Where, inventory.Filter{Namespaces: in.Namespaces, Severities: in.Severities}, in.format())
	if err != nil {
		return nil, err
	}
	return answer(ctx, a, h.store.Findings, toFinding, findingTable)
}

// items reads what is observed of a kind.
func (h *handler) items(kind inventory.Kind) reading[inventory.ItemRow] {
	return func(ctx context.Context, f inventory.Filter) (inventory.Page[inventory.ItemRow], error) {
		return h.store.Items(ctx, kind, f)
	}
}
