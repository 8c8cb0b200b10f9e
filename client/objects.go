package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"kqueen.io/kqueen/api/rest"
)

// mostObjects bounds what [Client.AllObjects] collects.
const mostObjects = 100_000

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
	// Provisioner is the name of that of a cluster, and Version what a cluster runs, or is to run when it does not yet.
	Provisioner, Version string
	// Ready is true, false or unknown.
	Ready string
	// Sort is name, -name, createdAt or -createdAt; name when it is empty.
	Sort string
}

func (q ObjectQuery) query() url.Values {
	query := q.Paging.query()
	for name, value := range map[string]string{
		"labelSelector": q.LabelSelector, "name": q.Name, "cluster": q.Cluster,
		"provisioner": q.Provisioner, "version": q.Version, "ready": q.Ready, "sort": q.Sort,
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
	return out, c.ofObjects(ctx, in, rest.VerbGet, name, Request{}, out)
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
	return out, c.ofObjects(ctx, in, rest.VerbCreate, "", Request{Query: change.query(), Body: wanted}, out)
}

// UpdateObject changes an object by a JSON merge patch (RFC 7386) of labels, annotations and spec, and returns it as it
// is then (operations updateCluster and the like).
func (c *Client) UpdateObject(ctx context.Context, in Collection, name string, patch json.RawMessage, change Change) (*rest.Object, error) {
	header := change.header()
	header.Set("Content-Type", "application/merge-patch+json")
	out := &rest.Object{}
	return out, c.ofObjects(ctx, in, rest.VerbUpdate, name, Request{Query: change.query(), Body: patch, Header: header}, out)
}

// ReplaceObject makes labels, annotations and spec of an object what wanted says, whose name is not heeded, and returns it
// as it is then (operations replaceCluster and the like).
func (c *Client) ReplaceObject(ctx context.Context, in Collection, name string, wanted rest.Input, change Change) (*rest.Object, error) {
	wanted.Name = ""
	out := &rest.Object{}
	return out, c.ofObjects(ctx, in, rest.VerbReplace, name, Request{Query: change.query(), Body: wanted, Header: change.header()}, out)
}

// Apply says how an object is applied.
type Apply struct {
	// Manager is who manages the fields from then on; required.
	Manager string
	// Force takes over fields that other managers have set to other values. Without it that is a problem with the code
	// [rest.CodeFieldConflict].
	Force bool
	// DryRun checks everything and does nothing.
	DryRun bool
}

func (a Apply) query() url.Values {
	query := url.Values{"fieldManager": {a.Manager}}
	for name, set := range map[string]bool{"force": a.Force, "dryRun": a.DryRun} {
		if set {
			query.Set(name, "true")
		}
	}
	return query
}

// ApplyObject creates an object, or merges what wanted says into the one that exists, by server-side apply, and returns it
// as it is then (operations updateCluster and the like). The name of wanted is not heeded. Fields that the manager said before
// and does not say any more go; those of other managers stay.
func (c *Client) ApplyObject(ctx context.Context, in Collection, name string, wanted rest.Input, a Apply) (*rest.Object, error) {
	wanted.Name = ""
	out := &rest.Object{}
	header := http.Header{"Content-Type": {rest.MediaApply}}
	return out, c.ofObjects(ctx, in, rest.VerbUpdate, name, Request{Query: a.query(), Body: wanted, Header: header}, out)
}

// DeleteObject begins to delete an object (operations deleteCluster and the like). It goes when all that was made for it
// is gone.
func (c *Client) DeleteObject(ctx context.Context, in Collection, name string, change Change) error {
	return c.ofObjects(ctx, in, rest.VerbDelete, name, Request{Query: change.query(), Header: change.header()}, nil)
}

// listVerb is that of the operation that lists the collection.
func (in Collection) listVerb() rest.Verb {
	if k, ok := rest.KindNamed(in.Kind); ok && k.InOrganization() && in.Organization == "" {
		return rest.VerbListAll
	}
	return rest.VerbList
}

// ofObjects makes the call of an operation of a kind.
func (c *Client) ofObjects(ctx context.Context, in Collection, verb rest.Verb, name string, r Request, out any) error {
	o, path, err := objectPath(in, verb, name)
	if err != nil {
		return err
	}
	r.Method, r.Path = o.Method, rest.Prefix+path
	return c.Call(ctx, r, out)
}

// objectPath is the operation of a kind, and its path, filled in.
func objectPath(in Collection, verb rest.Verb, name string) (Operation, string, error) {
	k, ok := rest.KindNamed(in.Kind)
	if !ok || !k.Can(verb) {
		return Operation{}, "", fmt.Errorf("%s %s: there is no such operation", verb, in.Kind)
	}
	o := Operation(k.Route(verb))
	var args []string
	if k.InOrganization() && verb != rest.VerbListAll {
		args = append(args, in.Organization)
	}
	path, err := fill(o.Path, append(args, name))
	if err != nil {
		return o, "", fmt.Errorf("%s: %w", o.ID, err)
	}
	return o, path, nil
}
