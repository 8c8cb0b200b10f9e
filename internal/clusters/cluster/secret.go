package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// ownSecret reads a Secret of the cluster, or returns a new one that is not written yet.
func (r *reconciler) ownSecret(ctx context.Context, c *v1alpha1.Cluster, name string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Secrets.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: c.Namespace, Name: name,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, v1alpha1.GroupVersion.WithKind("Cluster"))},
			},
			Type: corev1.SecretTypeOpaque,
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s: %w", name, err)
	}
	if !metav1.IsControlledBy(secret, c) {
		return nil, fmt.Errorf("read Secret %s: it does not belong to this cluster; delete it", name)
	}
	return secret, nil
}

// writeSecret creates or updates what [reconciler.ownSecret] returned. Another writer who came first has it refused.
func (r *reconciler) writeSecret(ctx context.Context, secret *corev1.Secret) error {
	write := func() error { return r.Client.Update(ctx, secret) }
	if secret.ResourceVersion == "" {
		write = func() error { return r.Client.Create(ctx, secret) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("write Secret %s: %w", secret.Name, err)
	}
	return nil
}

// removeSecret deletes a Secret of the cluster, and leaves one that is not.
func (r *reconciler) removeSecret(ctx context.Context, c *v1alpha1.Cluster, name string) error {
	secret := &corev1.Secret{}
	err := r.Secrets.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, c) {
		return nil
	}
	if err == nil {
		err = client.IgnoreNotFound(r.Client.Delete(ctx, secret, client.Preconditions{UID: &secret.UID}))
	}
	if err != nil {
		return fmt.Errorf("delete Secret %s: %w", name, err)
	}
	return nil
}
