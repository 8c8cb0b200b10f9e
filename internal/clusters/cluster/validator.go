package cluster

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
)

// Validator answers at admission whether a cluster can be had, so that whoever asks for what cannot
// be is told at once and nothing half-done stays. What the schema can say is said there.
type Validator struct {
	// Client of the admin plane.
	Client client.Reader
	// Drivers by name.
	Drivers map[string]provision.Driver
}

// ValidateCreate refuses a cluster whose provisioner is missing or does not take it.
func (v *Validator) ValidateCreate(ctx context.Context, c *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, v.validate(ctx, nil, c)
}

// ValidateUpdate refuses a change that the provisioner does not take. What is being deleted may lose
// its finalizer whatever its spec says.
func (v *Validator) ValidateUpdate(ctx context.Context, old, c *v1alpha1.Cluster) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() || old.Generation == c.Generation {
		return nil, nil
	}
	return nil, v.validate(ctx, old, c)
}

// ValidateDelete allows every deletion.
func (v *Validator) ValidateDelete(context.Context, *v1alpha1.Cluster) (admission.Warnings, error) {
	return nil, nil
}

func (v *Validator) validate(ctx context.Context, old, c *v1alpha1.Cluster) error {
	err := v.check(ctx, old, c)
	var invalid *provision.InvalidError
	if missing, ok := errors.AsType[*missingError](err); ok {
		invalid = &missing.InvalidError
	} else if !errors.As(err, &invalid) {
		return err
	}
	kind := v1alpha1.GroupVersion.WithKind("Cluster").GroupKind()
	return apierrors.NewInvalid(kind, c.Name, field.ErrorList{
		{Type: field.ErrorTypeForbidden, Field: invalid.Field, Detail: invalid.Problem},
	})
}

func (v *Validator) check(ctx context.Context, old, c *v1alpha1.Cluster) error {
	t, err := find(ctx, v.Client, v.Drivers, c)
	if err != nil {
		return err
	}
	if old == nil {
		return t.check(ctx, nil)
	}
	before := t.want
	before.Version, before.Network, before.ClusterParameters = old.Spec.Version, old.Spec.Network, rawOf(old.Spec.Parameters)
	return t.check(ctx, &before)
}
