package organization

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Provisioner answers whether the organization may have a provisioner of its own: old is nil for a new one.
func (l *Limits) Provisioner(ctx context.Context, old, p *v1alpha1.Provisioner) error {
	o, err := l.organization(ctx, p)
	if o == nil || err != nil {
		return err
	}
	var had []use
	if old != nil {
		had = provisionerUses(old, l.storeOf(old))
	}
	return l.permit(ctx, o, p, had, provisionerUses(p, l.storeOf(p)))
}

// permit lets an object through when the organization may use all that it asks for, or it had that already.
func (l *Limits) permit(ctx context.Context, o *v1alpha1.Organization, object client.Object, had, asked []use) error {
	list := &v1alpha1.ProvisionerList{}
	if err := l.client.List(ctx, list, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
		return fmt.Errorf("list the shared provisioners: %w", err)
	}
	shared := map[string]string{}
	for i := range list.Items {
		if store := l.storeOf(&list.Items[i]); store != "" {
			shared[list.Items[i].Name] = store
		}
	}
	if problem := disallowed(o.Name, permissions(&o.Spec, shared), had, asked); problem != nil {
		return refuse(keyOf(object).kind, object.GetName(), *problem)
	}
	return nil
}

// provisionerOf returns the Provisioner that a cluster names, and its data store. It is nil where there is none, which is
// for others to refuse: nothing can be made then.
func (l *Limits) provisionerOf(ctx context.Context, c *v1alpha1.Cluster) (*v1alpha1.Provisioner, string, error) {
	p := &v1alpha1.Provisioner{}
	ref := c.Spec.ProvisionerRef
	err := l.get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, p)
	if apierrors.IsNotFound(err) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", fmt.Errorf("read provisioner %s: %w", ref.Name, err)
	}
	return p, l.storeOf(p), nil
}

func (l *Limits) storeOf(p *v1alpha1.Provisioner) string {
	if l.DataStore == nil {
		return ""
	}
	return l.DataStore(p)
}
