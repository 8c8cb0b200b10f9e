package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/changelog"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/platform/jobs"
)

// origin is what of the cluster that a backup is of a new cluster is made with. A backup has it sealed, so that the cluster may be gone.
type origin struct {
	Spec v1alpha1.ClusterSpec `json:"spec"`
	// Keys are those by which its Secrets are encrypted, as [atrest.NewCipher] takes them.
	Keys map[string][]byte `json:"keys"`
}

// sealOrigin is what a backup of a cluster takes along of it, for its store alone. Where something of it is missing there is nothing: the
// backup can be restored in place all the same.
func (w *world) sealOrigin(ctx context.Context, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane, keys archive.Keys) ([]byte, error) {
	o, err := w.originOf(ctx, b, cp)
	if o == nil || err != nil {
		return nil, err
	}
	plain, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encode what the backup takes along of its cluster: %w", err)
	}
	return keys.SealForStore(plain)
}

// originOf reads the cluster as it is now; nil where it is gone, or its keys are.
func (w *world) originOf(ctx context.Context, b *v1alpha1.Backup, cp *v1alpha1.ControlPlane) (*origin, error) {
	cluster := &v1alpha1.Cluster{}
	err := w.Client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Spec.ClusterName}, cluster)
	if err != nil {
		return nil, absent("read cluster "+b.Spec.ClusterName, err)
	}
	secret := &corev1.Secret{}
	if err := w.Secrets.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: cp.KeysSecret()}, secret); err != nil {
		return nil, absent("read the encryption key of cluster "+b.Spec.ClusterName, err)
	}
	keys := atrest.Of(secret.Data)
	if _, err := atrest.NewCipher(keys); err != nil || string(cluster.UID) != b.Status.ClusterUID {
		return nil, nil //nolint:nilnil,nilerr // the control plane says what is wrong with its keys
	}
	return &origin{cluster.Spec, keys}, nil
}

// absent is an error, unless it says that there is nothing.
func absent(act string, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", act, err)
}

// openOrigin opens a backup with what a new cluster is made with; closed closes it.
func (w *world) openOrigin(ctx context.Context, b *v1alpha1.Backup) (opened *archive.Backup, o *origin, closed func() error, err error) {
	opened, bucket, err := w.open(ctx, b)
	if err != nil {
		return nil, nil, nil, err
	}
	if o, err = w.openedOrigin(ctx, b, opened); err != nil {
		return nil, nil, nil, errors.Join(err, bucket.Close())
	}
	return opened, o, bucket.Close, nil
}

// openedOrigin is what a new cluster is made with: what the backup has taken along, or, of one that is older than that, the cluster as it is.
func (w *world) openedOrigin(ctx context.Context, b *v1alpha1.Backup, opened *archive.Backup) (*origin, error) {
	sealed, err := opened.Unsealed()
	if err != nil {
		return nil, fmt.Errorf("open what the backup has taken along of its cluster: %w", err)
	}
	if sealed != nil {
		o := &origin{}
		if err := json.Unmarshal(sealed, o); err != nil {
			return nil, fmt.Errorf("read what the backup has taken along of its cluster: %w", err)
		}
		return o, nil
	}
	cp, err := w.controlPlaneOf(ctx, b.Namespace, b.Spec.ClusterName, b.Status.ClusterUID)
	if err != nil {
		return nil, err
	}
	if cp != nil && string(cp.UID) == b.Status.ControlPlaneUID && changelog.Untrusted(opened.Trust, cp) == "" {
		if o, err := w.originOf(ctx, b, cp); o != nil || err != nil {
			return o, err
		}
	}
	return nil, jobs.Refuse(v1alpha1.ReasonRestoreRefused,
		"spec.backupName: backup %s has not the key by which its Secrets are encrypted, as backups of earlier versions of KQueen have not, and the cluster with that key is gone", b.Name)
}

// newSpec is that of a cluster made of another one. What leads to that one, or says when it slept, is left out. It is pure.
func (o *origin) newSpec(version string) v1alpha1.ClusterSpec {
	spec := *o.Spec.DeepCopy()
	if version != spec.Version {
		spec.EmulatedVersion = ""
	}
	spec.Version, spec.Network.ExtraSANs = version, nil
	if h := spec.Hibernation; h != nil {
		h.Asleep, h.SleepRequestTime, h.WakeRequestTime = false, nil, nil
	}
	return spec
}
