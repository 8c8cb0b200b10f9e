package organization

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/egress"
)

// AskedAbout says in CEL whether a request changes what an organization's validators judge: what its clusters may call, and the
// settings of their addons.
const AskedAbout = "has(object.spec) && (has(object.spec.egress) && " +
	"(oldObject == null || !has(oldObject.spec) || !has(oldObject.spec.egress) || object.spec.egress != oldObject.spec.egress) || " +
	"has(object.spec.addons) && " +
	"(oldObject == null || !has(oldObject.spec) || !has(oldObject.spec.addons) || object.spec.addons != oldObject.spec.addons))"

// ValidateEgress returns what validates organizations: what their clusters may call beside themselves is addresses, and none that
// the egress refuses in any case. here tells the ranges that are closed on this host.
func ValidateEgress(here func() ([]egress.Closed, error)) admission.Validator[*v1alpha1.Organization] {
	return validateEgress{here}
}

type validateEgress struct {
	here func() ([]egress.Closed, error)
}

func (v validateEgress) ValidateCreate(_ context.Context, o *v1alpha1.Organization) (admission.Warnings, error) {
	return nil, v.validate(nil, o)
}

func (v validateEgress) ValidateUpdate(_ context.Context, old, o *v1alpha1.Organization) (admission.Warnings, error) {
	if !o.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return nil, v.validate(old, o)
}

func (v validateEgress) ValidateDelete(context.Context, *v1alpha1.Organization) (admission.Warnings, error) {
	return nil, nil
}

func (v validateEgress) validate(old, o *v1alpha1.Organization) error {
	here, err := v.here()
	if err != nil {
		return fmt.Errorf("look which addresses are closed: %w", err)
	}
	wrong := wrongEgress(old.EgressAllowed(), o.EgressAllowed(), here)
	if len(wrong) == 0 {
		return nil
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Organization").GroupKind(), o.Name, wrong)
}

// wrongEgress says which entries of a list cannot be allowed. Those that the organization had already it keeps: a host that gets
// an address keeps no administrator from changing the list. It is pure.
func wrongEgress(had, asked []string, here []egress.Closed) field.ErrorList {
	var wrong field.ErrorList
	for i, text := range asked {
		if slices.Contains(had, text) {
			continue
		}
		d, err := egress.ParseDestination(text)
		if err == nil {
			err = d.Check(here)
		}
		if err != nil {
			wrong = append(wrong, field.Forbidden(field.NewPath("spec", "egress", "allow").Index(i), err.Error()))
		}
	}
	return wrong
}
