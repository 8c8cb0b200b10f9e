package objects

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/body"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

func (c collection) createObject(ctx context.Context, in *createInput) (*objectOutput, error) {
	namespace, err := c.namespaceOf(ctx)
	if err != nil {
		return nil, err
	}
	// The API server decides it once more when the object is created; an earlier answer is given without asking it.
	if err := c.may(ctx, "create", namespace); err != nil {
		return nil, err
	}
	wanted, err := c.schemas.input(c.kind, in.RawBody)
	if err != nil {
		return nil, err
	}
	chain.Of(ctx).Object.Name = wanted.Name
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(c.gvk())
	o.SetNamespace(namespace)
	o.SetName(wanted.Name)
	if err := apply(wanted, o); err != nil {
		return nil, problem.Explain(err)
	}
	if err := c.requireFresh(ctx, nil, o); err != nil {
		return nil, err
	}
	return chain.Once(ctx, func() (*objectOutput, error) { return c.create(ctx, o, in.DryRun) })
}

// create creates an object as the caller.
func (c collection) create(ctx context.Context, o *unstructured.Unstructured, dry bool) (*objectOutput, error) {
	options := []client.CreateOption{client.FieldValidation(metav1.FieldValidationStrict)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	if err := c.callers.Create(ctx, o, options...); err != nil {
		return nil, c.act("create", o).Explain(err)
	}
	if !dry {
		chain.Of(ctx).Changed(nil, o)
	}
	out, err := c.output(o)
	if err == nil {
		out.Location = rest.Prefix + strings.ReplaceAll(c.path(), "{organization}", chain.Of(ctx).Path("organization")) + "/" + o.GetName()
	}
	return out, err
}

func (c collection) patchObject(ctx context.Context, in *patchInput) (*objectOutput, error) {
	if appliesType(in.ContentType) {
		return applying{c, in}.object(ctx)
	}
	if err := needsApply(in); err != nil {
		return nil, err
	}
	o, err := c.matching(ctx, in.IfMatch)
	if err != nil {
		return nil, err
	}
	have, err := inputOf(o)
	if err != nil {
		return nil, problem.Explain(err)
	}
	current, err := json.Marshal(have)
	if err != nil {
		return nil, problem.Explain(err)
	}
	if err := body.Check(in.RawBody); err != nil {
		return nil, unread(err)
	}
	merged, err := jsonpatch.MergePatch(current, in.RawBody)
	if err != nil {
		return nil, problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Detail: "the body is not a JSON merge patch (RFC 7386)"})
	}
	return c.update(ctx, o, merged, in.DryRun)
}

// matching reads the object of the path and compares it with what the caller has seen.
func (c collection) matching(ctx context.Context, ifMatch string) (*unstructured.Unstructured, error) {
	o, err := c.read(ctx)
	if err != nil {
		return nil, err
	}
	want := tags(ifMatch)
	switch {
	case len(want) == 0:
		return nil, problem.New(http.StatusPreconditionRequired, rest.CodeNeedsMatch, "name the revision that the request is about",
			rest.FieldError{Pointer: ":If-Match", Detail: `is missing; give the ETag of what you have read, or * for whatever is there`})
	case !slices.Contains(want, "*") && !slices.Contains(want, o.GetResourceVersion()):
		return nil, problem.New(http.StatusPreconditionFailed, rest.CodeChanged, "it was changed since you read it; read it again")
	}
	return o, nil
}

func (c collection) deleteObject(ctx context.Context, in *deleteInput) (*deleteOutput, error) {
	o, err := c.matching(ctx, in.IfMatch)
	if err != nil {
		return nil, err
	}
	uid, version := o.GetUID(), o.GetResourceVersion()
	options := []client.DeleteOption{client.Preconditions{UID: &uid}}
	if !slices.Contains(tags(in.IfMatch), "*") {
		options = []client.DeleteOption{client.Preconditions{UID: &uid, ResourceVersion: &version}}
	}
	if in.DryRun {
		options = append(options, client.DryRunAll)
	}
	if err := c.callers.Delete(ctx, o, options...); err != nil {
		return nil, c.act("delete", o).Explain(err)
	}
	if !in.DryRun {
		chain.Of(ctx).Changed(o, nil)
	}
	return &deleteOutput{Status: http.StatusAccepted}, nil
}

// tags are the entity tags of If-Match and If-None-Match.
func tags(header string) []string {
	var all []string
	for part := range strings.SplitSeq(header, ",") {
		if part = strings.Trim(strings.TrimPrefix(strings.TrimSpace(part), "W/"), `"`); part != "" {
			all = append(all, part)
		}
	}
	return all
}
