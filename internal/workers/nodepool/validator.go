package nodepool

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/workers/machine"
)

// Validator refuses at admission a pool that can never have a machine here, so that its user is told at once and not by a
// machine that is stalled. What may change, such as capacity, is said later.
type Validator struct {
	// Possible are the providers that can say so, by name.
	Possible map[string]machine.Possible
	// Takes says whether a cluster can have pools; nil for all.
	Takes func(ctx context.Context, cluster client.ObjectKey) error
}

// ValidateCreate refuses a pool whose provider cannot create its machines.
func (v Validator) ValidateCreate(ctx context.Context, p *v1alpha1.NodePool) (admission.Warnings, error) {
	if v.Takes != nil {
		err := v.Takes(ctx, client.ObjectKey{Namespace: p.Namespace, Name: p.Spec.ClusterName})
		if bad, ok := errors.AsType[*invalid.Error](err); ok {
			return nil, refused(p, field.Error{Type: field.ErrorTypeForbidden, Field: bad.Field, Detail: bad.Detail()})
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, v.check(p)
}

// ValidateUpdate allows what was allowed before, also where the host has changed since.
func (v Validator) ValidateUpdate(_ context.Context, old, p *v1alpha1.NodePool) (admission.Warnings, error) {
	if !p.DeletionTimestamp.IsZero() || old.Generation == p.Generation {
		return nil, nil
	}
	from, to := &old.Spec.Template, &p.Spec.Template
	if from.Provider == to.Provider && sameResources(from.Resources, to.Resources) {
		return nil, nil
	}
	return nil, v.check(p)
}

// ValidateDelete allows every deletion.
func (Validator) ValidateDelete(context.Context, *v1alpha1.NodePool) (admission.Warnings, error) {
	return nil, nil
}

func (v Validator) check(p *v1alpha1.NodePool) error {
	provider, ok := v.Possible[p.Spec.Template.Provider]
	if !ok {
		return nil
	}
	err := provider.Possible(machine.SizeOf(p.Spec.Template.Resources))
	if err == nil {
		return nil
	}
	problem := field.Error{Type: field.ErrorTypeForbidden, Field: "spec.template.provider", Detail: err.Error()}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		// The provider knows the spec of a machine, which is the template of the pool.
		problem.Field, problem.Detail = strings.Replace(bad.Field, "spec.", "spec.template.", 1), bad.Detail()
	}
	return refused(p, problem)
}

func refused(p *v1alpha1.NodePool, problem field.Error) error {
	return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("NodePool").GroupKind(), p.Name, field.ErrorList{&problem})
}
