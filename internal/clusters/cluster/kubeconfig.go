package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Kubeconfigs that a driver mints for KQueen's own use.
const (
	mintedLifetime = 24 * time.Hour
	// annotationRenew on the Secret says when another one is minted, as RFC 3339 has it.
	annotationRenew = "kqueen.io/renew-at"
)

// publish writes the admin kubeconfig into the cluster's Secret.
func (r *reconciler) publish(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	t, refused := r.resolve(ctx, c)
	if refused != nil {
		return *refused
	}
	if _, ok := t.Driver.(provision.CredentialChecker); ok {
		// Not published again: what reads a cluster's kubeconfig takes it for KQueen's own, and calls the server that it names unguarded.
		if len(t.want.ClusterCredentials[v1alpha1.CredentialKubeconfig]) == 0 {
			return operator.Done(v1alpha1.ReasonAgentEnrolled, "KQueen reaches the cluster by the agent in it")
		}
		return operator.Done(v1alpha1.ReasonKubeconfigSet, "KQueen reaches the cluster by the kubeconfig that was set for it")
	}
	observed, refused := look(ctx, c, t, v1alpha1.ReasonKubeconfigPending, v1alpha1.ReasonKubeconfigPending)
	if refused != nil {
		return *refused
	}
	if minter, ok := t.Driver.(provision.KubeconfigMinter); ok && observed.Endpoint != "" {
		return r.publishMinted(ctx, c, t, minter)
	}
	if len(observed.Kubeconfig) == 0 {
		return pending(observed)
	}
	if err := r.writeKubeconfig(ctx, c, observed.Kubeconfig, nil); err != nil {
		return operator.Retry(v1alpha1.ReasonKubeconfigPending, err)
	}
	return published(c, 0)
}

// publishMinted has the driver mint a kubeconfig when there is none, and another one after half of its life.
func (r *reconciler) publishMinted(ctx context.Context, c *v1alpha1.Cluster, t target, minter provision.KubeconfigMinter) operator.Outcome {
	left, err := r.mintedLeft(ctx, c)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonKubeconfigPending, err)
	}
	if left > 0 {
		return published(c, left)
	}
	minted, err := ask(ctx, t, func(ctx context.Context) (provision.Minted, error) {
		return minter.MintKubeconfig(ctx, t.want.Target, mintedLifetime)
	})
	if err != nil {
		return refusal(err, v1alpha1.ReasonKubeconfigPending)
	}
	left = minted.Ends.Sub(r.Now()) / 2
	if left <= 0 || len(minted.Kubeconfig) == 0 {
		return operator.Retry(v1alpha1.ReasonKubeconfigPending, errors.New("the provisioner returned a kubeconfig that has expired"))
	}
	renew := map[string]string{annotationRenew: r.Now().Add(left).UTC().Format(time.RFC3339)}
	if err := r.writeKubeconfig(ctx, c, minted.Kubeconfig, renew); err != nil {
		return operator.Retry(v1alpha1.ReasonKubeconfigPending, err)
	}
	return published(c, left)
}

// mintedLeft is how long the kubeconfig in the cluster's Secret is kept; not positive when another one is due.
func (r *reconciler) mintedLeft(ctx context.Context, c *v1alpha1.Cluster) (time.Duration, error) {
	secret := &corev1.Secret{}
	err := r.Secrets.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: c.KubeconfigSecret()}, secret)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(secret, c) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read kubeconfig: %w", err)
	}
	renew, err := time.Parse(time.RFC3339, secret.Annotations[annotationRenew])
	if err != nil {
		return 0, nil //nolint:nilerr // a Secret that does not say when to renew it is due
	}
	return renew.Sub(r.Now()), nil
}

// published says that there is a kubeconfig, for now when left is not zero. It is pure.
func published(c *v1alpha1.Cluster, left time.Duration) operator.Outcome {
	return operator.DoneUntil(v1alpha1.ReasonKubeconfigPublished, "the kubeconfig is in Secret "+c.KubeconfigSecret(), left)
}

// pending says why there is no kubeconfig yet. It is pure.
func pending(o provision.Observed) operator.Outcome {
	if o.State == provision.Failed {
		return operator.Stalled(v1alpha1.ReasonProvisionerFailed, "%s", o.Message)
	}
	message := "the provisioner has not given a kubeconfig yet"
	if o.Message != "" {
		message += ": " + o.Message
	}
	return operator.Wait(v1alpha1.ReasonKubeconfigPending, message, observeInterval)
}

func (r *reconciler) writeKubeconfig(ctx context.Context, c *v1alpha1.Cluster, kubeconfig []byte, annotations map[string]string) error {
	secret, err := r.ownSecret(ctx, c, c.KubeconfigSecret())
	if err != nil {
		return err
	}
	if bytes.Equal(secret.Data[v1alpha1.KubeconfigKey], kubeconfig) {
		return nil
	}
	secret.Data = map[string][]byte{v1alpha1.KubeconfigKey: kubeconfig}
	if annotations != nil {
		if secret.Annotations == nil {
			secret.Annotations = map[string]string{}
		}
		maps.Copy(secret.Annotations, annotations)
	}
	return r.writeSecret(ctx, secret)
}

func (r *reconciler) unpublish(ctx context.Context, c *v1alpha1.Cluster) operator.Outcome {
	for _, name := range []string{c.KubeconfigSecret(), c.CredentialsSecret()} {
		if err := r.removeSecret(ctx, c, name); err != nil {
			return operator.Retry(v1alpha1.ReasonKubeconfigPending, err)
		}
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}
