package objects

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
)

// Present returns the object of that name in a namespace, or nil when there is none. What all organizations share is not in
// the namespace of one.
func (c *Client) Present(ctx context.Context, kind, namespace, name string) (client.Object, error) {
	found, err := c.api.GetObject(ctx, c.in(kind, namespace), name)
	if IsNotFound(err) || err == nil && inOrganization(kind) && found.Organization == "" {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, explain(err)
	}
	return c.typed(kind, found)
}

// Apply creates an object in a namespace, or merges what is wanted into the one that exists, by server-side apply. What
// wanted leaves out stays as it is, unless the same manager said it before.
func (c *Client) Apply(ctx context.Context, kind, namespace string, wanted rest.Input, how kqueen.Apply) (client.Object, error) {
	made, err := c.api.ApplyObject(ctx, c.in(kind, namespace), wanted.Name, wanted, how)
	if err != nil {
		return nil, explain(err)
	}
	return c.typed(kind, made)
}
