package kinds

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/objects"
)

// ClusterOf is the name of the cluster that a pool or a machine is of.
func ClusterOf(object client.Object) string {
	switch o := object.(type) {
	case *v1alpha1.NodePool:
		return o.Spec.ClusterName
	case *v1alpha1.Machine:
		return o.Spec.ClusterName
	case *v1alpha1.Backup:
		return o.Spec.ClusterName
	case *v1alpha1.BackupSchedule:
		return o.Spec.ClusterName
	case *v1alpha1.Restore:
		return o.Status.ClusterName
	case *v1alpha1.Rehearsal:
		return o.Spec.ClusterName
	case *v1alpha1.Rotation:
		return o.Spec.ClusterName
	case *v1alpha1.Upgrade:
		return o.Spec.ClusterName
	}
	return object.GetName()
}

// Adopted says whether a cluster is one that others run: those that KQueen creates name a version.
func Adopted(c *v1alpha1.Cluster) bool { return c.Spec.Version == "" }

// CheckOrganization returns an error when the caller belongs to no such organization.
func CheckOrganization(ctx context.Context, e *connection.Env, c *objects.Client) error {
	_, err := c.Get(ctx, Organization.Kind, e.Organization())
	switch {
	case objects.IsNotFound(err):
		all := *e
		all.Flags.Organization = ""
		return exit.Fail(exit.NotFound, "organization %q does not exist; see which there are with: %s", e.Organization(), all.Command("organization list"))
	case objects.IsForbidden(err):
		return nil
	}
	return err
}

// Find returns the object of that name: the organization's, or else one that all organizations share.
func Find(ctx context.Context, e *connection.Env, c *objects.Client, n *Kind, name string) (client.Object, error) {
	object, err := c.Get(ctx, n.Kind, name)
	if objects.IsNotFound(err) {
		return nil, missing(e, n, name)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", n.Singular, name, err)
	}
	return object, nil
}

// FindAs is Find for a kind whose type the caller knows.
func FindAs[T client.Object](ctx context.Context, e *connection.Env, c *objects.Client, n *Kind, name string) (T, error) {
	object, err := Find(ctx, e, c, n, name)
	if err != nil {
		var none T
		return none, err
	}
	return object.(T), nil
}

// missing is the error for a name that nothing has.
func missing(e *connection.Env, n *Kind, name string) error {
	where := ""
	if n.Scope() != rest.ScopeInstallation {
		where = " in organization " + e.Organization()
	}
	return exit.Fail(exit.NotFound, "there is no %s %q%s; see: %s", n.Singular, name, where, e.Command(n.Singular+" list"))
}
