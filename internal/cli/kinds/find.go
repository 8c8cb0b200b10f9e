package kinds

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// Namespaces are where objects of the noun are looked for, nearest first.
func Namespaces(e *connection.Env, n *Kind, everywhere bool) []string {
	switch {
	case everywhere || n.Scope == InInstallation:
		return []string{""}
	case n.Scope == inBoth:
		return []string{e.Namespace(), v1alpha1.SystemNamespace}
	}
	return []string{e.Namespace()}
}

// ClusterOf is the name of the cluster that a pool or a machine is of.
func ClusterOf(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.NodePool:
		return o.Spec.ClusterName
	case *v1alpha1.Machine:
		return o.Spec.ClusterName
	}
	return object.GetName()
}

// CheckOrganization returns an error when the caller belongs to no such organization.
func CheckOrganization(ctx context.Context, e *connection.Env, c client.Client) error {
	err := c.Get(ctx, client.ObjectKey{Name: e.Organization()}, &v1alpha1.Organization{})
	if apierrors.IsNotFound(err) {
		all := *e
		all.Flags.Organization = ""
		return exit.Fail(exit.NotFound, "organization %q does not exist; see which there are with: %s", e.Organization(), all.Command("organization list"))
	}
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// Find returns the object of that name, from the nearest namespace that has one.
func Find(ctx context.Context, e *connection.Env, c client.Client, n *Kind, name string) (client.Object, error) {
	for _, namespace := range Namespaces(e, n, false) {
		object := n.Object()
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get %s %s: %w", n.Singular, name, err)
		}
		return object, SetKind(c, object)
	}
	return nil, missing(e, n, name)
}

// missing is the error for a name that nothing has.
func missing(e *connection.Env, n *Kind, name string) error {
	where := ""
	if n.Scope != InInstallation {
		where = " in organization " + e.Organization()
	}
	return exit.Fail(exit.NotFound, "there is no %s %q%s; see: %s", n.Singular, name, where, e.Command(n.Singular+" list"))
}
