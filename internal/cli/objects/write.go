package objects

import (
	"context"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
)

// deleteTries is how often an object is read again that changes while it is being deleted: its status changes all the
// time.
const deleteTries = 10

// Patch is a JSON merge patch (RFC 7386) of what callers may change.
type Patch struct {
	Labels      map[string]any `json:"labels,omitempty"`
	Annotations map[string]any `json:"annotations,omitempty"`
	Spec        map[string]any `json:"spec,omitempty"`
}

// Create makes an object, and fills in what the server says of it. With dryRun everything is checked and nothing made.
func (c *Client) Create(ctx context.Context, o client.Object, dryRun bool) error {
	wanted, err := inputOf(o)
	if err != nil {
		return err
	}
	made, err := c.api.CreateObject(ctx, c.of(o), wanted, kqueen.Change{DryRun: dryRun})
	return filled(made, err, o)
}

// Replace makes labels, annotations and spec what the object says. Its resourceVersion is the one that must be there.
func (c *Client) Replace(ctx context.Context, o client.Object, dryRun bool) error {
	wanted, err := inputOf(o)
	if err != nil {
		return err
	}
	changed, err := c.api.ReplaceObject(ctx, c.of(o), o.GetName(), wanted, kqueen.Change{Revision: o.GetResourceVersion(), DryRun: dryRun})
	return filled(changed, err, o)
}

// Update changes an object by a patch. A revision is the one that must be there; empty means any.
func (c *Client) Update(ctx context.Context, o client.Object, patch Patch, revision string, dryRun bool) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	changed, err := c.api.UpdateObject(ctx, c.of(o), o.GetName(), body, kqueen.Change{Revision: revision, DryRun: dryRun})
	return filled(changed, err, o)
}

// Delete begins to delete exactly this object. One that is gone already is fine, and another one of its name stays. The
// server compares revisions, so that it is one that was read with the UID.
func (c *Client) Delete(ctx context.Context, o client.Object) error {
	for try := 1; ; try++ {
		found, err := c.api.GetObject(ctx, c.of(o), o.GetName())
		if IsNotFound(err) || err == nil && found.UID != string(o.GetUID()) {
			return nil
		}
		if err == nil {
			err = c.api.DeleteObject(ctx, c.of(o), o.GetName(), kqueen.Change{Revision: found.Revision})
		}
		if err == nil || IsNotFound(err) {
			return nil
		}
		if !IsConflict(err) || try == deleteTries {
			return explain(err)
		}
	}
}

// of is where an object is.
func (c *Client) of(o client.Object) kqueen.Collection { return c.in(kindOf(o), o.GetNamespace()) }

// filled puts the server's answer into an object.
func filled(from *rest.Object, err error, to client.Object) error {
	if err != nil {
		return explain(err)
	}
	return fill(from, to)
}
