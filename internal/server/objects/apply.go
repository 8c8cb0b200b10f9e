package objects

import (
	"context"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

const (
	// defaultManager is the field manager of callers who name none.
	defaultManager = "kqueen-api"
	// applyTries is how often an object is read again that changes while it is applied. Its status changes all the time.
	applyTries = 5
)

// applying is one server-side apply.
type applying struct {
	collection

	in *patchInput
}

// object creates an object, or merges into the one that exists what the caller says of it. Unlike a merge patch it knows which
// fields the caller said the last time: those that are not said any more go.
func (c applying) object(ctx context.Context) (*objectOutput, error) {
	o, err := addressed(ctx, c.collection)
	if err != nil {
		return nil, err
	}
	wanted, err := c.schemas.applied(c.kind, c.in.RawBody)
	if err != nil {
		return nil, err
	}
	if err := apply(wanted, o); err != nil {
		return nil, problem.Explain(err)
	}
	for try := 1; ; try++ {
		out, err := c.to(ctx, o.DeepCopy())
		if again := apierrors.IsConflict(err) && !ownedByAnother(err); !again || try == applyTries {
			return out, c.explain(o, err)
		}
	}
}

// to applies to the object as it is now. Members that get a higher role are judged by what they come to be: the revision
// goes along, so that other members cannot come in between.
func (c applying) to(ctx context.Context, o *unstructured.Unstructured) (*objectOutput, error) {
	before := &unstructured.Unstructured{}
	before.SetGroupVersionKind(c.gvk())
	err := c.callers.Get(ctx, client.ObjectKeyFromObject(o), before)
	if apierrors.IsNotFound(err) {
		before, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	after := o.DeepCopy()
	if before != nil && c.Name == "Organization" {
		o.SetResourceVersion(before.GetResourceVersion())
		after.SetResourceVersion(before.GetResourceVersion())
		if err := c.write(ctx, after, true); err != nil {
			return nil, err
		}
	}
	if err := c.requireFresh(ctx, before, after); err != nil {
		return nil, err
	}
	if err := c.write(ctx, o, c.in.DryRun); err != nil {
		return nil, err
	}
	r := chain.Of(ctx)
	r.Object.UID = string(o.GetUID())
	if !c.in.DryRun {
		if before == nil {
			r.Changed(nil, o)
		} else {
			r.Changed(before, o)
		}
	}
	return c.output(o)
}

// write applies as the caller, and makes o what came of it.
func (c applying) write(ctx context.Context, o *unstructured.Unstructured, dry bool) error {
	manager := c.in.FieldManager
	if manager == "" {
		manager = defaultManager
	}
	options := []client.ApplyOption{client.FieldOwner(manager)}
	if c.in.Force {
		options = append(options, client.ForceOwnership)
	}
	if dry {
		options = append(options, client.DryRunAll)
	}
	return c.callers.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), options...)
}

// ownedByAnother says that fields belong to other managers, which repeating does not change.
func ownedByAnother(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// explain makes a problem of what an apply ended with.
func (c applying) explain(o client.Object, err error) error {
	if err == nil || !ownedByAnother(err) {
		return c.act("patch", o).Explain(err)
	}
	return problem.FieldConflict(err)
}

// applied reads what a caller applies: any part of what may be said of an object.
func (s *schemas) applied(k kind, data []byte) (rest.Input, error) {
	return s.read(k.Name+"Apply", data)
}

// partial makes a copy of a schema in which nothing is required: an apply may say a part. Entries of lists stay whole.
func partial(from *huma.Schema) *huma.Schema {
	s := *from
	s.Required = nil
	if len(from.Properties) > 0 {
		s.Properties = map[string]*huma.Schema{}
		for name, property := range from.Properties {
			s.Properties[name] = partial(property)
		}
	}
	s.PrecomputeMessages()
	return &s
}

// appliesType says whether the body of a PATCH is for server-side apply.
func appliesType(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && media == rest.MediaApply
}

// needsApply answers a PATCH that says which manager it is of and is none that is applied.
func needsApply(in *patchInput) error {
	if in.FieldManager == "" && !in.Force {
		return nil
	}
	return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
		rest.FieldError{Pointer: "?fieldManager", Detail: "is for server-side apply, whose Content-Type is " + rest.MediaApply})
}
