package agents

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/enrollment"
)

// kept is the Secret with a cluster's credentials, and the record of its agent there.
type kept struct {
	secret *corev1.Secret
	record enrollment.Record
	isNew  bool
}

// load reads the Secret; an empty one where there is none.
func load(ctx context.Context, own client.Client, c *v1alpha1.Cluster) (*kept, error) {
	k := &kept{secret: &corev1.Secret{}}
	err := own.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.CredentialsSecret()}, k.secret)
	if apierrors.IsNotFound(err) {
		k.isNew, k.secret = true, c.NewCredentialsSecret(nil)
		return k, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the credentials of cluster %s: %w", c.Name, err)
	}
	if !metav1.IsControlledBy(k.secret, c) {
		return nil, fmt.Errorf("read the credentials of cluster %s: Secret %s is not its own", c.Name, k.secret.Name)
	}
	k.record, err = enrollment.Read(k.secret.Data[v1alpha1.CredentialAgent])
	return k, err
}

// dropKubeconfig has the agent take the place of a kubeconfig.
func (k *kept) dropKubeconfig() { delete(k.secret.Data, v1alpha1.CredentialKubeconfig) }

// change reads, changes and writes the Secret, and does so again where another writer came between.
func change(ctx context.Context, own client.Client, c *v1alpha1.Cluster, with func(*kept) error) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		k, err := load(ctx, own, c)
		if err != nil {
			return err
		}
		if err := with(k); err != nil {
			return err
		}
		encoded, err := k.record.Encode()
		if err != nil {
			return fmt.Errorf("write which agent may speak for the cluster: %w", err)
		}
		if k.secret.Data == nil {
			k.secret.Data = map[string][]byte{}
		}
		k.secret.Data[v1alpha1.CredentialAgent] = encoded
		if k.secret.Labels == nil {
			k.secret.Labels = map[string]string{}
		}
		k.secret.Labels[v1alpha1.LabelAgent] = "true"
		if k.isNew {
			return own.Create(ctx, k.secret)
		}
		return own.Update(ctx, k.secret)
	})
}
