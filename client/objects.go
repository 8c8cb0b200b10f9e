package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/rest"
)

// mostObjects bounds what [Client.AllObjects] collects.
const mostObjects = 100_000

// kind is a noun of the API, and what can be done with it.
type kind struct {
	// name such as "Cluster", and plural such as "clusters", as it stands in paths.
	name, plural string
	// inOrganization says that it belongs to an organization.
	inOrganization bool
	// verbs beside list and get.
	verbs []string
}

// What can be done with objects, as it stands in operationIds.
const (
	verbList    = "list"
	verbListAll = "listAll"
	verbGet     = "get"
	verbCreate  = "create"
	verbUpdate  = "update"
	verbReplace = "replace"
	verbDelete  = "delete"
)

// kinds are the nouns that this client knows. A new noun is a line here.
var kinds = []kind{
	{name: "Organization", plural: "organizations", verbs: []string{verbCreate, verbUpdate, verbReplace, verbDelete}},
	{name: "Release", plural: "releases"},
	{name: "Provisioner", plural: "provisioners", inOrganization: true, verbs: []string{verbCreate, verbUpdate, verbReplace, verbDelete}},
	{name: "Cluster", plural: "clusters", inOrganization: true, verbs: []string{verbCreate, verbUpdate, verbReplace, verbDelete}},
	{name: "NodePool", plural: "nodepools", inOrganization: true, verbs: []string{verbCreate, verbUpdate, verbReplace, verbDelete}},
	{name: "Machine", plural: "machines", inOrganization: true, verbs: []string{verbUpdate, verbReplace, verbDelete}},
	{name: "ControlPlane", plural: "controlplanes", inOrganization: true},
	{name: "IdentityProvider", plural: "identityproviders", verbs: []string{verbCreate, verbUpdate, verbReplace, verbDelete}},
}

// operation is what a verb means for the kind.
func (k kind) operation(verb string) Operation {
	path := "/" + k.plural
	if k.inOrganization && verb != verbListAll {
		path = "/organizations/{organization}" + path
	}
	one := path + "/{" + strings.ToLower(k.name[:1]) + k.name[1:] + "}"
	switch verb {
	case verbList, verbListAll:
		return Operation{ID: verb + k.name + "s", Method: http.MethodGet, Path: path}
	case verbCreate:
		return Operation{ID: verb + k.name, Method: http.MethodPost, Path: path}
	case verbUpdate:
		return Operation{ID: verb + k.name, Method: http.MethodPatch, Path: one}
	case verbReplace:
		return Operation{ID: verb + k.name, Method: http.MethodPut, Path: one}
	case verbDelete:
		return Operation{ID: verb + k.name, Method: http.MethodDelete, Path: one}
	}
	return Operation{ID: verbGet + k.name, Method: http.MethodGet, Path: one}
}

// operations are all of the kind.
func (k kind) operations() []Operation {
	all := []Operation{k.operation(verbList), k.operation(verbGet)}
	if k.inOrganization {
		all = append(all, k.operation(verbListAll))
	}
	for _, verb := range k.verbs {
		all = append(all, k.operation(verb))
	}
	return all
}

// Collection says where objects are.
type Collection struct {
	// Kind such as "Cluster".
	Kind string
	// Organization that they belong to. It is empty for what belongs to the installation, and, to list and to watch,
	// for those of all organizations of the caller's.
	Organization string
}

// ObjectQuery says which objects of a collection. Empty fields take all.
type ObjectQuery struct {
	Paging

	// LabelSelector as Kubernetes selects by labels: "env=prod,tier!=web".
	LabelSelector string
	// Name is a part of the name, and Cluster the name of the cluster that an object belongs to.
	Name, Cluster string
	// Ready is true, false or unknown.
	Ready string
	// Sort is name, -name, createdAt or -createdAt; name when it is empty.
	Sort string
}

func (q ObjectQuery) query() url.Values {
	query := q.Paging.query()
	for name, value := range map[string]string{
		"labelSelector": q.LabelSelector, "name": q.Name, "cluster": q.Cluster, "ready": q.Ready, "sort": q.Sort,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

// Change says how an object is changed.
type Change struct {
	// Revision is that of what was read: when the object has another one by now, nothing is done, and the problem has
	// the code [rest.CodeChanged]. Empty means whatever is there.
	Revision string
	// DryRun checks everything and does nothing.
	DryRun bool
}

func (c Change) query() url.Values {
	if c.DryRun {
		return url.Values{"dryRun": {"true"}}
	}
	return nil
}

func (c Change) header() http.Header {
	if c.Revision == "" {
		return http.Header{"If-Match": {"*"}}
	}
	return http.Header{"If-Match": {`"` + c.Revision + `"`}}
}

// GetObject returns an object as it is now (operations getCluster and the like).
func (c *Client) GetObject(ctx context.Context, in Collection, name string) (*rest.Object, error) {
	out := &rest.Object{}
	return out, c.ofObjects(ctx, in, verbGet, name, Request{}, out)
}

// ListObjects returns one page of a collection (operations listClusters and the like). It may be a moment behind.
func (c *Client) ListObjects(ctx context.Context, in Collection, q ObjectQuery) (*rest.List, error) {
	out := &rest.List{}
	return out, c.ofObjects(ctx, in, in.listVerb(), "", Request{Query: q.query()}, out)
}

// AllObjects returns all pages of a collection from the one that the query names on, in pages of 500 unless it says so.
func (c *Client) AllObjects(ctx context.Context, in Collection, q ObjectQuery) (*rest.List, error) {
	if q.Limit == 0 {
		q.Limit = 500
	}
	all := &rest.List{}
	for {
		page, err := c.ListObjects(ctx, in, q)
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, page.Items...)
		switch {
		case page.Cursor == "":
			return all, nil
		case len(all.Items) > mostObjects, page.Cursor == q.Cursor, len(page.Items) == 0:
			return nil, fmt.Errorf("list %s: the list does not end after %d; ask for less, by a filter", in.Kind, len(all.Items))
		}
		q.Cursor = page.Cursor
	}
}

// CreateObject makes an object, and returns it as it was made (operations createCluster and the like). Of change only
// DryRun is heeded.
func (c *Client) CreateObject(ctx context.Context, in Collection, wanted rest.Input, change Change) (*rest.Object, error) {
	out := &rest.Object{}
	return out, c.ofObjects(ctx, in, verbCreate, "", Request{Query: change.query(), Body: wanted}, out)
}

// UpdateObject changes an object by a JSON merge patch (RFC 7386) of labels, annotations and spec, and returns it as it
// is then (operations updateCluster and the like).
func (c *Client) UpdateObject(ctx context.Context, in Collection, name string, patch json.RawMessage, change Change) (*rest.Object, error) {
	header := change.header()
	header.Set("Content-Type", "application/merge-patch+json")
	out := &rest.Object{}
	return out, c.ofObjects(ctx, in, verbUpdate, name, Request{Query: change.query(), Body: patch, Header: header}, out)
}

// ReplaceObject makes labels, annotations and spec of an object what wanted says, whose name is not heeded, and returns it
// as it is then (operations replaceCluster and the like).
func (c *Client) ReplaceObject(ctx context.Context, in Collection, name string, wanted rest.Input, change Change) (*rest.Object, error) {
	wanted.Name = ""
	out := &rest.Object{}
	return out, c.ofObjects(ctx, in, verbReplace, name, Request{Query: change.query(), Body: wanted, Header: change.header()}, out)
}

// DeleteObject begins to delete an object (operations deleteCluster and the like). It goes when all that was made for it
// is gone.
func (c *Client) DeleteObject(ctx context.Context, in Collection, name string, change Change) error {
	return c.ofObjects(ctx, in, verbDelete, name, Request{Query: change.query(), Header: change.header()}, nil)
}

// listVerb is that of the operation that lists the collection.
func (in Collection) listVerb() string {
	if k, ok := kindOf(in.Kind); ok && k.inOrganization && in.Organization == "" {
		return verbListAll
	}
	return verbList
}

// ofObjects makes the call of an operation of a kind.
func (c *Client) ofObjects(ctx context.Context, in Collection, verb, name string, r Request, out any) error {
	o, path, err := objectPath(in, verb, name)
	if err != nil {
		return err
	}
	r.Method, r.Path = o.Method, rest.Prefix+path
	return c.Call(ctx, r, out)
}

// objectPath is the operation of a kind, and its path, filled in.
func objectPath(in Collection, verb, name string) (Operation, string, error) {
	k, ok := kindOf(in.Kind)
	if !ok || verb != verbList && verb != verbListAll && verb != verbGet && !slices.Contains(k.verbs, verb) {
		return Operation{}, "", fmt.Errorf("%s %s: there is no such operation", verb, in.Kind)
	}
	o := k.operation(verb)
	var args []string
	if k.inOrganization && verb != verbListAll {
		args = append(args, in.Organization)
	}
	path, err := fill(o.Path, append(args, name))
	if err != nil {
		return o, "", fmt.Errorf("%s: %w", o.ID, err)
	}
	return o, path, nil
}

func kindOf(name string) (kind, bool) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return kinds[i], true
}
