package restclient

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
)

// deleteTries is how often an object is read again that changes while it is being deleted: its status changes all the
// time.
const deleteTries = 10

// Create implements client.Client. Of the options it heeds the dry run.
func (c *restClient) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	kind, p, err := c.placeOf(o)
	if err != nil {
		return err
	}
	wanted, err := inputOf(o)
	if err != nil {
		return err
	}
	opts := (&client.CreateOptions{}).ApplyOptions(options)
	made, err := c.api.CreateObject(ctx, p.in, wanted, kqueen.Change{DryRun: len(opts.DryRun) > 0})
	if err != nil {
		return explain(err, kind, o.GetName())
	}
	return fill(made, o)
}

// Update implements client.Client: labels, annotations and spec become what the object says. A resourceVersion is the one
// that must be there. Of the options it heeds the dry run.
func (c *restClient) Update(ctx context.Context, o client.Object, options ...client.UpdateOption) error {
	kind, p, err := c.placeOf(o)
	if err != nil {
		return err
	}
	wanted, err := inputOf(o)
	if err != nil {
		return err
	}
	opts := (&client.UpdateOptions{}).ApplyOptions(options)
	changed, err := c.api.ReplaceObject(ctx, p.in, o.GetName(), wanted, kqueen.Change{Revision: o.GetResourceVersion(), DryRun: len(opts.DryRun) > 0})
	if err != nil {
		return explain(err, kind, o.GetName())
	}
	return fill(changed, o)
}

// Patch implements client.Client, for merge patches of labels, annotations and spec. A resourceVersion in the patch is
// the one that the object must have.
func (c *restClient) Patch(ctx context.Context, o client.Object, patch client.Patch, options ...client.PatchOption) error {
	kind, p, err := c.placeOf(o)
	if err != nil {
		return err
	}
	if patch.Type() != types.MergePatchType {
		return refused("a patch of type " + string(patch.Type()))
	}
	data, err := patch.Data(o)
	if err != nil {
		return fmt.Errorf("make the patch: %w", err)
	}
	body, revision, err := translate(data)
	if err != nil {
		return err
	}
	opts := (&client.PatchOptions{}).ApplyOptions(options)
	changed, err := c.api.UpdateObject(ctx, p.in, o.GetName(), body, kqueen.Change{Revision: revision, DryRun: len(opts.DryRun) > 0})
	if err != nil {
		return explain(err, kind, o.GetName())
	}
	return fill(changed, o)
}

// translate makes a merge patch of the REST API of one of the admin plane's, and takes out the revision that it wants.
func translate(patch []byte) (body json.RawMessage, revision string, err error) {
	var whole, metadata map[string]json.RawMessage
	if err := json.Unmarshal(patch, &whole); err != nil {
		return nil, "", fmt.Errorf("read the patch: %w", err)
	}
	out := map[string]json.RawMessage{}
	for name, value := range whole {
		switch name {
		case "metadata":
			if err := json.Unmarshal(value, &metadata); err != nil {
				return nil, "", fmt.Errorf("read the patch: metadata: %w", err)
			}
		case "spec":
			out[name] = value
		default:
			return nil, "", refused("changing " + name)
		}
	}
	for name, value := range metadata {
		switch name {
		case "labels", "annotations":
			out[name] = value
		case "resourceVersion":
			if err := json.Unmarshal(value, &revision); err != nil {
				return nil, "", fmt.Errorf("read the patch: metadata.resourceVersion: %w", err)
			}
		default:
			return nil, "", refused("changing metadata." + name)
		}
	}
	body, err = json.Marshal(out)
	return body, revision, err
}

// Delete implements client.Client. Of the options it heeds the dry run and the preconditions: another object of the same
// name is not deleted.
func (c *restClient) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	kind, p, err := c.placeOf(o)
	if err != nil {
		return err
	}
	opts := (&client.DeleteOptions{}).ApplyOptions(options)
	change := kqueen.Change{DryRun: len(opts.DryRun) > 0}
	var uid types.UID
	if opts.Preconditions != nil && opts.Preconditions.UID != nil {
		uid = *opts.Preconditions.UID
	}
	if opts.Preconditions != nil && opts.Preconditions.ResourceVersion != nil {
		change.Revision = *opts.Preconditions.ResourceVersion
	}
	if uid == "" || change.Revision != "" {
		return explain(c.api.DeleteObject(ctx, p.in, o.GetName(), change), kind, o.GetName())
	}
	return c.deleteExactly(ctx, p.in, o.GetName(), uid, change)
}

// deleteExactly deletes the object that has this UID. The server compares revisions, so that it is one that was read with
// that UID.
func (c *restClient) deleteExactly(ctx context.Context, in kqueen.Collection, name string, uid types.UID, change kqueen.Change) error {
	for try := 1; ; try++ {
		found, err := c.api.GetObject(ctx, in, name)
		if err != nil {
			return explain(err, in.Kind, name)
		}
		if found.UID != string(uid) {
			resource := schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: in.Kind}
			return apierrors.NewConflict(resource, name, fmt.Errorf("it is another one of the same name"))
		}
		change.Revision = found.Revision
		err = explain(c.api.DeleteObject(ctx, in, name, change), in.Kind, name)
		if err == nil || !apierrors.IsConflict(err) || try == deleteTries {
			return err
		}
	}
}

// placeOf is where an object is that is to be written.
func (c *restClient) placeOf(o client.Object) (string, place, error) {
	kind, err := c.kindOf(o)
	if err != nil {
		return "", place{}, err
	}
	p := c.place(kind, o.GetNamespace())
	if p.nowhere {
		return "", place{}, refused("changing what is in " + o.GetNamespace())
	}
	return kind, p, nil
}
