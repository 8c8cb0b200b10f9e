package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator"
)

// ensureKeys issues what is missing and renews what is due. What everything else hangs on is made once, and then has to be there.
func (r *reconciler) ensureKeys(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	store, err := r.Stores.Open(ctx, cp.Spec.DataStoreName)
	if err != nil {
		return storeOutcome(err)
	}
	set, err := r.wantKeys(cp)
	if err != nil {
		return operator.Stalled(v1alpha1.ReasonKeysUnusable, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	secret, err := r.readKeys(ctx, cp)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonKeysUnusable, err)
	}
	stored, encryption := splitKeys(secret.Data)
	have, moved := promoted(cp, stored)
	encryption, turned, err := encryption.at(cp.Spec.RotationStep(v1alpha1.CredentialEncryptionKey), func() (EncryptionKey, error) { return newEncryptionKey(true) })
	if err != nil {
		return operator.Retry(v1alpha1.ReasonKeysUnusable, err)
	}
	if refused := distrust(cp, secret.ResourceVersion != "", rootsOf(set, have, encryption)); refused != nil {
		return *refused
	}
	signers, err := r.clientSigners(ctx, store)
	if err != nil {
		return storeOutcome(err)
	}
	got, changes, err := pki.Issue(have, set, signers, r.Now())
	if broken, ok := errors.AsType[*pki.TrustError](err); ok {
		return operator.Stalled(v1alpha1.ReasonKeysUnusable, "%v", broken)
	}
	if err != nil {
		return operator.Retry(v1alpha1.ReasonKeysUnusable, err)
	}
	if n := len(encryption.present.Secret); n != 0 && n != encryptionKeyLength {
		return operator.Stalled(v1alpha1.ReasonKeysUnusable, "%s in the Secret %s has %d bytes, must have %d: put it back from a backup", encryptionKey, secret.Name, n, encryptionKeyLength)
	}
	if encryption, err = r.saveKeys(ctx, cp, secret, got, encryption, slices.Concat(changes, moved, turned)); err != nil {
		return operator.Retry(v1alpha1.ReasonKeysUnusable, err)
	}
	due, err := pki.RenewAt(got, set)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonKeysUnusable, err)
	}
	first, end := pki.FirstEnd(got, set)
	noteExpiry(cp, first, end, r.Now())
	cp.Status.RenewalTime, cp.Status.Trust = ptr.To(metav1.NewTime(due)), rootsOf(set, got, encryption)
	return operator.DoneUntil(v1alpha1.ReasonKeysIssued, "all keys and certificates are there", max(due.Sub(r.Now()), 0))
}

// saveKeys writes keys where they have changed, and makes the encryption key where there is none yet.
func (r *reconciler) saveKeys(
	ctx context.Context, cp *v1alpha1.ControlPlane, secret *corev1.Secret, keys pki.Bundle, encryption encryptionKeys, changes []pki.Change,
) (encryptionKeys, error) {
	if len(encryption.present.Secret) == 0 {
		made, err := r.newEncryption(ctx, cp)
		if err != nil {
			return encryption, err
		}
		encryption, changes = made, append(changes, pki.Change{Name: encryptionKey})
	}
	if len(changes) == 0 {
		return encryption, nil
	}
	return encryption, r.writeKeys(ctx, secret, joinKeys(keys, encryption))
}

// newEncryption is the key of a control plane that has none yet: a new one, and for a copy those of what was copied.
func (r *reconciler) newEncryption(ctx context.Context, cp *v1alpha1.ControlPlane) (encryptionKeys, error) {
	if cp.IsCopy() {
		return r.encryptionOf(ctx, cp)
	}
	key, err := newEncryptionKey(false)
	return encryptionKeys{present: key}, err
}

func (r *reconciler) wantKeys(cp *v1alpha1.ControlPlane) (pki.Set, error) {
	keyspace, err := datastore.NewKeyspace(string(cp.UID))
	if err != nil {
		return pki.Set{}, err
	}
	return pki.ControlPlane(pki.ControlPlaneParams{
		UID:              string(cp.UID),
		DNSDomain:        cp.Spec.Network.DNSDomain,
		ServiceCIDR:      cp.Spec.Network.ServiceCIDR,
		SNIHost:          serverName(cp, r.Domain),
		AdvertiseAddress: r.AdvertiseAddress,
		ExtraSANs:        cp.Spec.Network.ExtraSANs,
		StoreAuthority:   storeAuthority,
		StoreUser:        keyspace.User(),
		Successor:        successor(cp),
		NextSigningKey:   both(cp.Spec.RotationStep(v1alpha1.CredentialServiceAccountKey)),
	})
}

// readKeys returns the control plane's keys Secret, or a new one that is not written yet.
func (r *reconciler) readKeys(ctx context.Context, cp *v1alpha1.ControlPlane) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Secrets.Get(ctx, client.ObjectKey{Namespace: cp.Namespace, Name: cp.KeysSecret()}, secret)
	if apierrors.IsNotFound(err) {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:       cp.Namespace,
				Name:            cp.KeysSecret(),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cp, v1alpha1.GroupVersion.WithKind("ControlPlane"))},
			},
			Type: corev1.SecretTypeOpaque,
		}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	return secret, nil
}

// writeKeys creates or updates the Secret. The resource version in it refuses the update when
// another writer came first: two authorities for one cluster must never be.
func (r *reconciler) writeKeys(ctx context.Context, secret *corev1.Secret, data map[string][]byte) error {
	secret.Data = data
	if secret.ResourceVersion == "" {
		if err := r.Client.Create(ctx, secret); err != nil {
			return fmt.Errorf("write keys: %w", err)
		}
		return nil
	}
	if err := r.Client.Update(ctx, secret); err != nil {
		return fmt.Errorf("write renewed keys: %w", err)
	}
	return nil
}

func (r *reconciler) removeKeys(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: cp.Namespace, Name: cp.KeysSecret()}}
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, secret)); err != nil {
		return operator.Retry(v1alpha1.ReasonKeysUnusable, fmt.Errorf("delete keys: %w", err))
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// splitKeys tells the keys of the authority table from the encryption keys beside them.
func splitKeys(data map[string][]byte) (pki.Bundle, encryptionKeys) {
	bundle := pki.Bundle{}
	for name, value := range data {
		if !atrest.Is(name) {
			bundle[name] = value
		}
	}
	return bundle, readEncryption(data)
}

func joinKeys(bundle pki.Bundle, encryption encryptionKeys) map[string][]byte {
	data := encryption.data()
	maps.Copy(data, bundle)
	return data
}
