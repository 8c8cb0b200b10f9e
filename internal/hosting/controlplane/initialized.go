package controlplane

import (
	"context"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator"
)

// firstServiceAccount is what the controllers make for every cluster, soon after they begin.
const firstServiceAccount = "/api/v1/namespaces/default/serviceaccounts/default"

const (
	// controllersInterval is the time between two questions while the first controllers start.
	controllersInterval = 100 * time.Millisecond
	// controllersTimeout bounds one question: a tenant's API server is not trusted to answer.
	controllersTimeout = 2 * time.Second
)

// awaitControllers asks, until it was true once, whether the controllers have begun: the controller
// manager calls itself healthy before, and a user who is told "ready" would find no ServiceAccount.
func (r *reconciler) awaitControllers(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	begun := operator.Done(v1alpha1.ReasonInitialized, "the controllers have begun their work")
	if apimeta.IsStatusConditionTrue(cp.Status.Conditions, v1alpha1.ConditionInitialized) {
		return begun
	}
	if cp.IsCopy() {
		return operator.Done(v1alpha1.ReasonInitialized, "no controllers run over a copy")
	}
	kubeconfig, err := r.adminKubeconfig(ctx, cp)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonInitializing, err)
	}
	ctx, cancel := context.WithTimeout(ctx, controllersTimeout)
	defer cancel()
	code, err := r.Ask(ctx, kubeconfig, firstServiceAccount)
	switch {
	case err != nil:
		return operator.Retry(v1alpha1.ReasonInitializing, fmt.Errorf("ask for the first ServiceAccount: %w", err))
	case code == http.StatusNotFound:
		return operator.Wait(v1alpha1.ReasonInitializing, "the controllers have not created the first ServiceAccount yet", controllersInterval)
	case code != http.StatusOK:
		return operator.Retry(v1alpha1.ReasonInitializing, fmt.Errorf("ask for the first ServiceAccount: the answer is %d %s", code, http.StatusText(code)))
	}
	return begun
}

// adminKubeconfig leads straight to the API server, not through the gateway.
func (r *reconciler) adminKubeconfig(ctx context.Context, cp *v1alpha1.ControlPlane) ([]byte, error) {
	secret, err := r.keys(ctx, cp)
	if err != nil {
		return nil, err
	}
	return kubeconfigTrusting(ctx, r, cp, secret, splitBundle(secret).Trusted())
}

// kubeconfigTrusting is that kubeconfig, with the authorities by which the API server is known.
func kubeconfigTrusting(ctx context.Context, r *reconciler, cp *v1alpha1.ControlPlane, secret *corev1.Secret, authorities []byte) ([]byte, error) {
	place, err := r.Runner.Reserve(ctx, string(cp.UID), Ports())
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	return pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: cp.Name, Context: cp.Name, User: "kqueen",
		Server: LocalServer(place), TLSServerName: serverName(cp, r.Domain),
		CA: authorities, ClientCert: secret.Data["admin.crt"], ClientKey: secret.Data["admin.key"],
	})
}
