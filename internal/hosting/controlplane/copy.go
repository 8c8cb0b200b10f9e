package controlplane

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// withoutWebhooks keeps the API server of a copy from asking webhooks: they are those of the cluster itself, which must not notice.
const withoutWebhooks = "--disable-admission-plugins=MutatingAdmissionWebhook,ValidatingAdmissionWebhook"

// detached is what runs over a copy of a keyspace: an API server that reaches no node, pod, webhook or address, takes no credential but
// its own, and writes nothing down. It is pure.
func (d Description) detached() Description {
	d.Copy = true
	d.Kubelets, d.Allowed, d.Issuer, d.ClusterAudit = nil, nil, nil, v1alpha1.AuditNone
	return d
}

// encryptionOf are the keys with which what was copied is encrypted. Everything else is the copy's own: what trusts the one control plane
// does not trust the other.
func (r *reconciler) encryptionOf(ctx context.Context, copied *v1alpha1.ControlPlane) (encryptionKeys, error) {
	all := &v1alpha1.ControlPlaneList{}
	if err := r.Client.List(ctx, all, client.InNamespace(copied.Namespace)); err != nil {
		return encryptionKeys{}, fmt.Errorf("list control planes: %w", err)
	}
	for i := range all.Items {
		if of := &all.Items[i]; string(of.UID) == copied.Spec.CopyOf && !of.IsCopy() {
			secret, err := r.keys(ctx, of)
			if err != nil {
				return encryptionKeys{}, fmt.Errorf("read the encryption key of control plane %s: %w", of.Name, err)
			}
			return readEncryption(secret.Data), nil
		}
	}
	return encryptionKeys{}, errors.New("spec.copyOf: there is no such control plane in the namespace")
}

// groupOf names those whose quota of store a control plane shares. Copies share none: what a user tries must not keep clusters from
// writing.
func groupOf(cp *v1alpha1.ControlPlane) string {
	if cp.IsCopy() {
		return cp.Namespace + "/copies"
	}
	return cp.Namespace
}
