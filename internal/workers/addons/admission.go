package addons

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Validator returns what answers at admission whether objects of a kind such as "Cluster" may have their settings of addons,
// which are in spec.addons: those that [Check] takes. What is being deleted may say anything.
func Validator[T client.Object](kind string, settings func(T) []v1alpha1.AddonSetting) admission.Validator[T] {
	return validator[T]{kind, settings}
}

type validator[T client.Object] struct {
	kind     string
	settings func(T) []v1alpha1.AddonSetting
}

func (v validator[T]) ValidateCreate(_ context.Context, o T) (admission.Warnings, error) {
	return nil, v.refuse(o, Check("spec.addons", nil, v.settings(o)))
}

func (v validator[T]) ValidateUpdate(_ context.Context, old, o T) (admission.Warnings, error) {
	if o.GetDeletionTimestamp() != nil {
		return nil, nil
	}
	return nil, v.refuse(o, Check("spec.addons", v.settings(old), v.settings(o)))
}

func (v validator[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

// refuse makes of what is wrong an answer that names the field.
func (v validator[T]) refuse(o T, err error) error {
	bad, ok := errors.AsType[*invalid.Error](err)
	if !ok {
		return err
	}
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind(v.kind).GroupKind(), o.GetName(), field.ErrorList{
		{Type: field.ErrorTypeForbidden, Field: bad.Field, Detail: bad.Detail()},
	})
}
