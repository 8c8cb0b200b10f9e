// Package objects reads, follows and changes the objects of an installation by its REST API, as the types in
// api/v1alpha1, which commands print.
//
// It hides that organizations are paths in the API and namespaces in what users see, that the API cannot follow
// everything, and which calls act on exactly one object. What the server refuses is a [rest.Problem]; an object of another
// kind than was asked for is an error, so that callers need not look. Only internal/cli enters it.
package objects

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

// eventKind is the one kind beside those of [rest.Kinds]: Kubernetes' own, which only lists.
const eventKind = "Event"

// Client calls the API of one installation. Make it with New.
type Client struct {
	api    *kqueen.Client
	scheme *runtime.Scheme
	// organization is the one through which is read what all organizations share.
	organization string
}

// New returns a client of the objects that the API serves. The scheme knows their types; organization is one of the
// caller's. No call is made.
func New(api *kqueen.Client, scheme *runtime.Scheme, organization string) *Client {
	return &Client{api, scheme, organization}
}

// Set says which objects of a kind.
type Set struct {
	// Kind such as "Cluster", or "Event".
	Kind string
	// Organization that they belong to; empty for list across all organizations, and of the installation.
	Organization string
	// Shared takes those that Organization shares with all others, and not its own.
	Shared bool
	// Name, of an object or of what an event is about, and Labels narrow it.
	Name, Labels string
	// Provisioner and Version narrow clusters; see [kqueen.ObjectQuery].
	Provisioner, Version string
}

// query is what the server is asked for.
func (s Set) query() kqueen.ObjectQuery {
	return kqueen.ObjectQuery{LabelSelector: s.Labels, Name: s.Name, Provisioner: s.Provisioner, Version: s.Version}
}

// wants says whether an object is one of the set; the server's answer may hold more.
func (s Set) wants(o *rest.Object) bool {
	return (s.Name == "" || o.Name == s.Name) && (s.Organization == "" || (o.Organization == "") == s.Shared)
}

func (s Set) collection() kqueen.Collection {
	return kqueen.Collection{Kind: s.Kind, Organization: s.Organization}
}

// Get returns an object as it is now: that of the organization, or else one that it shares.
func (c *Client) Get(ctx context.Context, kind, name string) (client.Object, error) {
	found, err := c.api.GetObject(ctx, c.in(kind, ""), name)
	if err != nil {
		return nil, explain(err)
	}
	return c.typed(kind, found)
}

// List returns the objects of a set. One that is named is as it is now; else they may be a moment behind.
func (c *Client) List(ctx context.Context, s Set) ([]client.Object, error) {
	if s.Kind == eventKind {
		return c.events(ctx, s)
	}
	found, err := c.read(ctx, s)
	if err != nil {
		return nil, explain(err)
	}
	all := make([]client.Object, 0, len(found))
	for i := range found {
		if !s.wants(&found[i]) {
			continue
		}
		o, err := c.typed(s.Kind, &found[i])
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

// read asks the server. An object that is named is read itself: lists may be a moment behind, and would not have what
// was just made.
func (c *Client) read(ctx context.Context, s Set) ([]rest.Object, error) {
	if s.Name == "" || s.Organization == "" && inOrganization(s.Kind) {
		all, err := c.api.AllObjects(ctx, s.collection(), s.query())
		if err != nil {
			return nil, err
		}
		return all.Items, nil
	}
	found, err := c.api.GetObject(ctx, s.collection(), s.Name)
	if err == nil {
		return []rest.Object{*found}, nil
	}
	if IsNotFound(err) {
		// Only a list tells whether there is nothing or the caller may not look.
		_, err = c.api.ListObjects(ctx, s.collection(), kqueen.ObjectQuery{Paging: kqueen.Paging{Limit: 1}, Name: s.Name})
	}
	return nil, err
}

// in is where an object of a namespace is. What has none yet, or is shared, is in the caller's organization.
func (c *Client) in(kind, namespace string) kqueen.Collection {
	in := kqueen.Collection{Kind: kind}
	if inOrganization(kind) {
		in.Organization = c.organization
		if organization, ok := organizationOf(namespace); ok {
			in.Organization = organization
		}
	}
	return in
}

func inOrganization(kind string) bool {
	k, ok := rest.KindNamed(kind)
	return ok && k.InOrganization()
}

// typed is an object of the kind that was asked for, as its type has it.
func (c *Client) typed(kind string, from *rest.Object) (client.Object, error) {
	made, err := c.scheme.New(v1alpha1.GroupVersion.WithKind(kind))
	if err != nil {
		return nil, fmt.Errorf("read %s %s: %w", kind, from.Name, err)
	}
	o := made.(client.Object)
	return o, fill(from, o)
}

// Named returns an object of a type that the caller knows, which is that of the kind.
func Named[T client.Object](ctx context.Context, c *Client, kind, name string) (T, error) {
	found, err := c.Get(ctx, kind, name)
	if err != nil {
		var none T
		return none, err
	}
	return found.(T), nil
}
