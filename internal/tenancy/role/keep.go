package role

import (
	"context"
	"fmt"
	"maps"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Keep makes objects of [Shared], [Guard] or [Bindings] so, whatever a user has made of them: what is missing is
// created, and what differs is written over. It writes nothing when all is as it should be.
func Keep(ctx context.Context, c client.Client, objects []client.Object) error {
	for _, want := range objects {
		if err := keep(ctx, c, want); err != nil {
			return fmt.Errorf("grant %s: %w", want.GetName(), err)
		}
	}
	return nil
}

func keep(ctx context.Context, c client.Client, want client.Object) error {
	have := want.DeepCopyObject().(client.Object)
	err := c.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return c.Create(ctx, want.DeepCopyObject().(client.Object))
	}
	if err != nil || same(want, have) {
		return err
	}
	if rebinds(want, have) { // a roleRef cannot be changed
		uid := have.GetUID()
		if err := client.IgnoreNotFound(c.Delete(ctx, have, client.Preconditions{UID: &uid})); err != nil {
			return err
		}
		return c.Create(ctx, want.DeepCopyObject().(client.Object))
	}
	next := want.DeepCopyObject().(client.Object)
	next.SetResourceVersion(have.GetResourceVersion())
	labels, annotations := maps.Clone(have.GetLabels()), maps.Clone(have.GetAnnotations())
	next.SetLabels(labels)
	next.SetAnnotations(annotations)
	return c.Update(ctx, next)
}

// same says whether nothing has to be written. What the API server fills in is not looked at.
func same(want, have client.Object) bool {
	if !equality.Semantic.DeepEqual(want.GetOwnerReferences(), have.GetOwnerReferences()) {
		return false
	}
	switch w := want.(type) {
	case *rbacv1.ClusterRole:
		return equality.Semantic.DeepEqual(w.Rules, have.(*rbacv1.ClusterRole).Rules)
	case *rbacv1.Role:
		return equality.Semantic.DeepEqual(w.Rules, have.(*rbacv1.Role).Rules)
	case *rbacv1.ClusterRoleBinding:
		h := have.(*rbacv1.ClusterRoleBinding)
		return w.RoleRef == h.RoleRef && equality.Semantic.DeepEqual(w.Subjects, h.Subjects)
	case *rbacv1.RoleBinding:
		h := have.(*rbacv1.RoleBinding)
		return w.RoleRef == h.RoleRef && equality.Semantic.DeepEqual(w.Subjects, h.Subjects)
	case *admissionv1.ValidatingAdmissionPolicy:
		h := have.(*admissionv1.ValidatingAdmissionPolicy)
		return equality.Semantic.DeepDerivative(w.Spec, h.Spec)
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		h := have.(*admissionv1.ValidatingAdmissionPolicyBinding)
		return equality.Semantic.DeepDerivative(w.Spec, h.Spec)
	}
	return false
}

// rebinds says whether a binding leads to another role than it should.
func rebinds(want, have client.Object) bool {
	switch w := want.(type) {
	case *rbacv1.ClusterRoleBinding:
		return w.RoleRef != have.(*rbacv1.ClusterRoleBinding).RoleRef
	case *rbacv1.RoleBinding:
		return w.RoleRef != have.(*rbacv1.RoleBinding).RoleRef
	}
	return false
}
