package organization

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/addons"
)

// ValidateAddons returns what validates organizations: the settings of the addons of their clusters.
func ValidateAddons() admission.Validator[*v1alpha1.Organization] { return validateAddons{} }

type validateAddons struct{}

func (validateAddons) ValidateCreate(_ context.Context, o *v1alpha1.Organization) (admission.Warnings, error) {
	return nil, checkAddons(o)
}

func (validateAddons) ValidateUpdate(_ context.Context, _, o *v1alpha1.Organization) (admission.Warnings, error) {
	if !o.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	return nil, checkAddons(o)
}

func (validateAddons) ValidateDelete(context.Context, *v1alpha1.Organization) (admission.Warnings, error) {
	return nil, nil
}

func checkAddons(o *v1alpha1.Organization) error {
	err := addons.Check("spec.addons", o.Spec.Addons)
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return err
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("Organization").GroupKind(), o.Name, field.ErrorList{
		field.Forbidden(field.NewPath(bad.Field), bad.Detail()),
	})
}
