package admission

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Chain asks validators of one kind in their order, until one refuses. One that counts what it lets through comes last:
// what a later one refuses would be counted all the same.
func Chain[T runtime.Object](validators ...admission.Validator[T]) admission.Validator[T] {
	return chain[T](validators)
}

type chain[T runtime.Object] []admission.Validator[T]

func (c chain[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	return c.ask(func(v admission.Validator[T]) (admission.Warnings, error) { return v.ValidateCreate(ctx, object) })
}

func (c chain[T]) ValidateUpdate(ctx context.Context, old, object T) (admission.Warnings, error) {
	return c.ask(func(v admission.Validator[T]) (admission.Warnings, error) { return v.ValidateUpdate(ctx, old, object) })
}

func (c chain[T]) ValidateDelete(ctx context.Context, object T) (admission.Warnings, error) {
	return c.ask(func(v admission.Validator[T]) (admission.Warnings, error) { return v.ValidateDelete(ctx, object) })
}

func (c chain[T]) ask(question func(admission.Validator[T]) (admission.Warnings, error)) (admission.Warnings, error) {
	var all admission.Warnings
	for _, v := range c {
		warnings, err := question(v)
		all = append(all, warnings...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// Dry says whether the API server will write nothing whatever the answer. ctx is that of a validator.
func Dry(ctx context.Context) bool {
	req, err := admission.RequestFromContext(ctx)
	return err == nil && ptr.Deref(req.DryRun, false)
}
