package operator

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
)

// Once is a phase of an object that acts once: when ended says that it has, its condition stays what it was.
func Once[T Object](condition string, ended func(T) bool, ensure, remove func(context.Context, T) Outcome) Phase[T] {
	return Phase[T]{
		Condition: condition, Remove: remove,
		Ensure: func(ctx context.Context, o T) Outcome {
			last := apimeta.FindStatusCondition(o.Shared().Conditions, condition)
			if ended(o) && last != nil {
				return Done(last.Reason, last.Message)
			}
			return ensure(ctx, o)
		},
	}
}
