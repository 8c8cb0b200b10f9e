package prepare

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/addons"
)

// authorityKey is the key of the PEM of who signed the certificate, in Secrets of the type kubernetes.io/tls as others write them.
const authorityKey = "ca.crt"

// certificate is the Secret, for the cluster, with what its Ingresses have by default; nil while there is none. The key of its
// authority stays on the admin plane.
func (p *Preparer) certificate(ctx context.Context, cluster *v1alpha1.Cluster) (*corev1.Secret, error) {
	issued := &corev1.Secret{}
	err := p.Settings.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.IngressSecret()}, issued)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(issued, cluster) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the certificate of the Ingresses of cluster %s: %w", cluster.Name, err)
	}
	secret := emptyCertificate()
	secret.Type = corev1.SecretTypeTLS
	secret.Data = map[string][]byte{authorityKey: issued.Data[authorityKey]}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if secret.Data[key] = issued.Data[key]; len(secret.Data[key]) == 0 {
			return nil, nil // it is about to be issued
		}
	}
	return secret, nil
}

func emptyCertificate() *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceSystem, Name: addons.DefaultCertificate, Labels: map[string]string{addons.LabelManagedBy: addons.ManagedByKQueen},
		},
	}
}

// putCertificate makes the Secret what it is to be in the cluster, unless a user has put one there.
func putCertificate(ctx context.Context, c client.Client, secret *corev1.Secret) error {
	whose, err := owner(ctx, c, secret)
	if err != nil || whose != "" {
		return err
	}
	return kube.Apply(ctx, c, []client.Object{secret}, addons.Manager)
}

// forgetCertificate deletes the Secret, unless it is a user's.
func forgetCertificate(ctx context.Context, c client.Client) error {
	secret := emptyCertificate()
	there, err := metadataOf(ctx, c, secret)
	if apierrors.IsNotFound(err) || err == nil && ownedBy(there) != "" {
		return nil
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, kube.CallDeadline)
		defer cancel()
		err = client.IgnoreNotFound(c.Delete(ctx, secret))
	}
	if err != nil {
		return fmt.Errorf("delete the certificate of Ingresses: %w", err)
	}
	return nil
}
