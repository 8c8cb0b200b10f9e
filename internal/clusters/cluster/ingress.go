package cluster

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator"
)

// issueIngress keeps the authority and the default certificate of the cluster's Ingresses in a Secret beside the Cluster. The key of
// the authority stays there; package prepare puts the certificate into the cluster.
func (r *reconciler) issueIngress(ctx context.Context, c *v1alpha1.Cluster) error {
	if r.Applications.Domains == nil {
		return nil
	}
	domains := r.Applications.Domains(client.ObjectKeyFromObject(c))
	set, err := pki.Ingress(string(c.UID), domains)
	if err != nil {
		return fmt.Errorf("certificate of Ingresses: %w", err)
	}
	secret, err := r.ownSecret(ctx, c, c.IngressSecret())
	if err != nil {
		return err
	}
	issued, changes, err := pki.Issue(secret.Data, set, nil, r.Now())
	if err != nil {
		return fmt.Errorf("issue the certificate of Ingresses in Secret %s, which is issued again when you delete it: %w", secret.Name, err)
	}
	if len(changes) > 0 {
		secret.Data = issued
		if err := r.writeSecret(ctx, secret); err != nil {
			return err
		}
	}
	if c.Status.Ingress == nil {
		c.Status.Ingress = &v1alpha1.ClusterIngress{}
	}
	c.Status.Ingress.Domains, c.Status.Ingress.CA = domains, issued["ca.crt"]
	return nil
}

// locateIngress notes where the cluster's Ingresses answer.
func (r *reconciler) locateIngress(ctx context.Context, c *v1alpha1.Cluster) error {
	if c.Status.Ingress == nil || r.Applications.Address == nil {
		return nil
	}
	address, err := r.Applications.Address(ctx, c)
	c.Status.Ingress.Address, c.Status.Ingress.Port = "", 0
	if address.IsValid() {
		c.Status.Ingress.Address, c.Status.Ingress.Port = address.String(), r.Applications.Port
	}
	return err
}

func (r *reconciler) removeIngress(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	if err := r.removeSecret(ctx, c, c.IngressSecret()); err != nil {
		return operator.Retry(v1alpha1.ReasonIngressKeysUnusable, err)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}
