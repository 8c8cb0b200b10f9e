package objects

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
)

// replaceObject puts all that a caller may say of an object in the place of what was said.
func (c collection) replaceObject(ctx context.Context, in *replaceInput) (*objectOutput, error) {
	o, err := c.matching(ctx, in.IfMatch)
	if err != nil {
		return nil, err
	}
	return c.update(ctx, o, in.RawBody, in.DryRun)
}

// update writes what is said of an object, as the caller. That it is still what they have read is for the API server
// to see.
func (c collection) update(ctx context.Context, o *unstructured.Unstructured, said []byte, dry bool) (*objectOutput, error) {
	wanted, err := c.schemas.change(c.kind, said)
	if err != nil {
		return nil, err
	}
	before := o.DeepCopy()
	if err := apply(wanted, o); err != nil {
		return nil, problem.Explain(err)
	}
	if err := c.requireFresh(ctx, before, o); err != nil {
		return nil, err
	}
	options := []client.UpdateOption{client.FieldValidation(metav1.FieldValidationStrict)}
	if dry {
		options = append(options, client.DryRunAll)
	}
	if err := c.callers.Update(ctx, o, options...); err != nil {
		return nil, c.act("update", o).Explain(err)
	}
	if !dry {
		chain.Of(ctx).Changed(before, o)
	}
	return c.output(o)
}
