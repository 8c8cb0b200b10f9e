package controlplane

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/atrest"
	"kqueen.io/kqueen/internal/hosting/pki"
)

const (
	encryptionKey, encryptionName = atrest.Key, atrest.Name
	encryptionKeyLength           = atrest.Length
	oldPrefix                     = atrest.Old
	// rootEncryption is the name of the encryption key among the roots of trust.
	rootEncryption = "encryption"
)

// EncryptionKey encrypts Secrets at rest.
type EncryptionKey struct {
	// Name is in what it has encrypted; empty for that of a control plane whose key was never rotated.
	Name string
	// Secret has 32 bytes.
	Secret []byte
}

// encryptionKeys are those of a control plane: the present one, and while it is rotated the next one or the old one.
type encryptionKeys struct{ present, next, old EncryptionKey }

func readEncryption(data map[string][]byte) encryptionKeys {
	read := func(prefix string) EncryptionKey {
		return EncryptionKey{string(data[prefix+encryptionName]), data[prefix+encryptionKey]}
	}
	return encryptionKeys{read(""), read(nextOf("")), read(oldPrefix)}
}

// data is what a Secret has of the keys. It is pure.
func (e encryptionKeys) data() map[string][]byte {
	out := map[string][]byte{}
	for prefix, key := range map[string]EncryptionKey{"": e.present, nextOf(""): e.next, oldPrefix: e.old} {
		if len(key.Secret) > 0 {
			out[prefix+encryptionKey] = key.Secret
		}
		if key.Name != "" {
			out[prefix+encryptionName] = []byte(key.Name)
		}
	}
	return out
}

// roots are the fingerprints of the keys that can be used, by the names that they have as roots of trust. It is pure.
func (e encryptionKeys) roots() map[string]string {
	out := map[string]string{}
	for name, key := range map[string]EncryptionKey{rootEncryption: e.present, nextOf(rootEncryption): e.next, oldPrefix + rootEncryption: e.old} {
		if len(key.Secret) == encryptionKeyLength {
			out[name] = pki.SecretFingerprint(key.Secret)
		}
	}
	return out
}

// at are the keys at a step of their rotation. Until Serve the present key stays what it was, so that a backup says by it what it needs; from
// then on that is the new one, by which everything is encrypted by then. made is the next key, where there has to be one.
func (e encryptionKeys) at(step v1alpha1.RotationStep, made func() (EncryptionKey, error)) (encryptionKeys, []pki.Change, error) {
	change := func(detail string) []pki.Change {
		return []pki.Change{{Name: encryptionKey, Reason: pki.Differs, Detail: detail}}
	}
	none := func(k EncryptionKey) bool { return len(k.Secret) == 0 }
	switch {
	case (step == v1alpha1.StepTrust || step == v1alpha1.StepSign) && none(e.next) && none(e.old):
		var err error
		e.next, err = made()
		return e, change("the next one is there"), err
	case (step == v1alpha1.StepServe || step == v1alpha1.StepRemove) && !none(e.next):
		e.present, e.next, e.old = e.next, EncryptionKey{}, e.present
		return e, change("the new one takes its place"), nil
	case step == v1alpha1.StepRemove && !none(e.old):
		e.old = EncryptionKey{}
		return e, change("the old one is gone"), nil
	}
	return e, nil, nil
}

// inOrder are the keys as an API server has them: the first one writes, and all read. It is pure.
func (e encryptionKeys) inOrder(step v1alpha1.RotationStep) []EncryptionKey {
	all := []EncryptionKey{e.present, e.next, e.old}
	if signsNext(step) && len(e.next.Secret) > 0 {
		all = []EncryptionKey{e.next, e.present, e.old}
	}
	return slices.DeleteFunc(all, func(k EncryptionKey) bool { return len(k.Secret) == 0 })
}

// servedRoots are the roots of trust that a control plane had before the new encryption key took the place of the old one, as they are after
// that: the last run may have put it there in the Secret, and have ended before it could say so. It is pure.
func servedRoots(roots []v1alpha1.TrustRoot, step v1alpha1.RotationStep) []v1alpha1.TrustRoot {
	served := slices.ContainsFunc(roots, func(r v1alpha1.TrustRoot) bool { return r.Name == nextOf(rootEncryption) })
	var out []v1alpha1.TrustRoot
	for _, r := range roots {
		switch {
		case served && r.Name == rootEncryption:
			r.Name = oldPrefix + rootEncryption
		case served && r.Name == nextOf(rootEncryption):
			r.Name = rootEncryption
		}
		if step != v1alpha1.StepRemove || r.Name != oldPrefix+rootEncryption {
			out = append(out, r)
		}
	}
	return out
}

// newEncryptionKey makes a key; the first one of a control plane has no name.
func newEncryptionKey(named bool) (EncryptionKey, error) {
	key := EncryptionKey{Secret: make([]byte, encryptionKeyLength)}
	if _, err := rand.Read(key.Secret); err != nil {
		return EncryptionKey{}, fmt.Errorf("make the encryption key: %w", err)
	}
	if named {
		key.Name = pki.EncryptionKeyName(pki.SecretFingerprint(key.Secret))
	}
	return key, nil
}

// encryptionFile keeps Secrets unreadable in the store. The last provider reads what was written before.
func encryptionFile(keys []EncryptionKey) apiserverv1.EncryptionConfiguration {
	secretbox := &apiserverv1.SecretboxConfiguration{}
	for _, k := range keys {
		name := k.Name
		if name == "" {
			name = pki.FirstEncryptionKeyName
		}
		secretbox.Keys = append(secretbox.Keys, apiserverv1.Key{Name: name, Secret: base64.StdEncoding.EncodeToString(k.Secret)})
	}
	return apiserverv1.EncryptionConfiguration{
		TypeMeta: metav1.TypeMeta{APIVersion: apiserverv1.SchemeGroupVersion.String(), Kind: "EncryptionConfiguration"},
		Resources: []apiserverv1.ResourceConfiguration{{
			Resources: []string{"secrets"},
			Providers: []apiserverv1.ProviderConfiguration{{Secretbox: secretbox}, {Identity: &apiserverv1.IdentityConfiguration{}}},
		}},
	}
}
