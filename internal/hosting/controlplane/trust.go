package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/operator"
)

// rootsOf are the roots of trust in a Secret's keys, those that can be read, by name.
func rootsOf(set pki.Set, bundle pki.Bundle, encryption encryptionKeys) []v1alpha1.TrustRoot {
	found := bundle.Roots(set)
	maps.Copy(found, encryption.roots())
	out := make([]v1alpha1.TrustRoot, 0, len(found))
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, v1alpha1.TrustRoot{Name: name, Fingerprint: found[name]})
	}
	return out
}

// distrust compares the roots of trust in a control plane's Secret with those that it was made with, and says why they
// cannot be used: others would cut off each node and user, and leave its Secrets unreadable for ever. It is pure; nil says
// that they can.
func distrust(cp *v1alpha1.ControlPlane, there bool, have []v1alpha1.TrustRoot) *operator.Outcome {
	secret := cp.Namespace + "/" + cp.KeysSecret()
	stalled := func(reason, problem string) *operator.Outcome {
		o := operator.Stalled(reason, "%s; no other is created or used, because nodes, users and the stored Secrets of the control plane depend on it: "+
			"put the Secret %s back from a backup, or delete the control plane", problem, secret)
		return &o
	}
	// A control plane of an earlier version of KQueen has no fingerprints, but was issued certificates.
	if !there && (len(cp.Status.Trust) > 0 || cp.Status.RenewalTime != nil) {
		return stalled(v1alpha1.ReasonKeysMissing, "the Secret "+secret+", which has the keys, is gone")
	}
	for _, made := range known(cp) {
		i := slices.IndexFunc(have, func(r v1alpha1.TrustRoot) bool { return r.Name == made.Name })
		if i < 0 {
			return stalled(v1alpha1.ReasonKeysMissing, fmt.Sprintf("the key %q (%s) is missing in the Secret %s, or cannot be read", made.Name, made.Fingerprint, secret))
		}
		if have[i].Fingerprint != made.Fingerprint {
			return stalled(v1alpha1.ReasonKeysForeign, fmt.Sprintf("the key %q in the Secret %s is %s, and the control plane was created with %s",
				made.Name, secret, have[i].Fingerprint, made.Fingerprint))
		}
	}
	return nil
}

// keys returns the Secret that ensureKeys has found good. What became of it since is an error: nothing is to run with
// keys that are not those.
func (r *reconciler) keys(ctx context.Context, cp *v1alpha1.ControlPlane) (*corev1.Secret, error) {
	secret, err := r.readKeys(ctx, cp)
	if err != nil {
		return nil, err
	}
	set, err := r.wantKeys(cp)
	if err != nil {
		return nil, err
	}
	bundle, encryption := splitKeys(secret.Data)
	if secret.ResourceVersion == "" || distrust(cp, true, rootsOf(set, bundle, encryption)) != nil {
		return nil, errors.New("the keys have changed meanwhile; they are looked at again")
	}
	return secret, nil
}

func splitBundle(secret *corev1.Secret) pki.Bundle {
	bundle, _ := splitKeys(secret.Data)
	return bundle
}
