package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/operator"
)

// fileTrusted holds all authorities of users and nodes once the first one is being, or was, replaced; until then ca.crt does.
const fileTrusted = "trusted-ca.crt"

// rootOf is the name of the root of trust in the authority table that a rotation replaces.
func rootOf(credential v1alpha1.RotatedCredential) string {
	if credential == v1alpha1.CredentialServiceAccountKey {
		return "sa"
	}
	return "ca"
}

// both says whether the old credential and the new one are there at a step. It is pure.
func both(step v1alpha1.RotationStep) bool {
	return step == v1alpha1.StepTrust || step == v1alpha1.StepSign || step == v1alpha1.StepServe
}

// signsNext says whether the new credential signs at a step. It is pure.
func signsNext(step v1alpha1.RotationStep) bool { return both(step) && step != v1alpha1.StepTrust }

// successor is the authority that a rotation brings, or nil. It is pure.
func successor(cp *v1alpha1.ControlPlane) *pki.Successor {
	step := cp.Spec.RotationStep(v1alpha1.CredentialCertificateAuthority)
	if !both(step) {
		return nil
	}
	id := cp.Spec.Rotation.UID
	return &pki.Successor{ID: id[:min(len(id), 8)], Clients: signsNext(step), Servers: step == v1alpha1.StepServe}
}

// promoted are the keys as the step of a rotation has them, and what that changes: at its end the new ones are in the place of the old ones,
// which are in no Secret any more. It is pure.
func promoted(cp *v1alpha1.ControlPlane, have pki.Bundle) (pki.Bundle, []pki.Change) {
	if cp.Spec.Rotation == nil || cp.Spec.Rotation.Step != v1alpha1.StepRemove || len(have.Next()) == 0 {
		return have, nil
	}
	return have.Promote(), []pki.Change{{Name: rootOf(cp.Spec.Rotation.Credential), Reason: pki.Differs, Detail: "the new one takes its place"}}
}

// known are the roots of trust that a control plane was made with, those at the end of a rotation with the new one in the place of the old
// one: the last run may have put it there in the Secret, and have ended before it could say so. It is pure.
func known(cp *v1alpha1.ControlPlane) []v1alpha1.TrustRoot {
	if step := cp.Spec.RotationStep(v1alpha1.CredentialEncryptionKey); step == v1alpha1.StepServe || step == v1alpha1.StepRemove {
		return servedRoots(cp.Status.Trust, step)
	}
	if cp.Spec.Rotation == nil || cp.Spec.Rotation.Step != v1alpha1.StepRemove {
		return cp.Status.Trust
	}
	name := rootOf(cp.Spec.Rotation.Credential)
	next := slices.IndexFunc(cp.Status.Trust, func(r v1alpha1.TrustRoot) bool { return r.Name == nextOf(name) })
	if next < 0 {
		return cp.Status.Trust
	}
	out := slices.Clone(cp.Status.Trust)
	for i := range out {
		if out[i].Name == name {
			out[i].Fingerprint = out[next].Fingerprint
		}
	}
	return slices.Delete(out, next, next+1)
}

func nextOf(name string) string { return "next-" + name }

// keyFiles are the keys as the components read them: ca and sa are what signs, also while it is not what signed before. It is pure.
func (d Description) keyFiles() pki.Bundle {
	files, next := d.Keys.Present(), d.Keys.Next()
	if d.trustFile() == fileTrusted {
		files[fileTrusted] = d.Keys.Trusted()
	}
	if len(next["sa.pub"]) > 0 {
		files["sa.pub"] = bytes.Join([][]byte{d.Keys["sa.pub"], next["sa.pub"]}, nil)
	}
	for _, suffix := range []string{".crt", ".key"} {
		if to := d.kubeletClient() + suffix; to != kubeletClient+suffix {
			files[to] = files[kubeletClient+suffix]
			delete(files, kubeletClient+suffix)
		}
	}
	if !d.NextSigns {
		return files
	}
	for _, name := range []string{"ca.crt", "ca.key", "sa.key"} {
		if len(next[name]) > 0 {
			files[name] = next[name]
		}
	}
	return files
}

// kubeletClient is the name in the authority table of that by which the API server is known to kubelets.
const kubeletClient = "apiserver-kubelet-client"

// kubeletClient is the name of the files with which the API server calls kubelets, another one for each authority: an API server whose
// file changes under it ends all its calls to kubelets at once, also the one that it has just begun. So it is handed over to another one
// that reads other files. For the first authority the name is what it always was. It is pure.
func (d Description) kubeletClient() string {
	if id := d.Keys.SignerID(kubeletClient); id != "" {
		return kubeletClient + "-" + id
	}
	return kubeletClient
}

// trustFile is the file with the authorities of users and nodes. For the first one alone it is ca.crt, as it always was: no component of a
// control plane that was never rotated is started again for a rotation.
func (d Description) trustFile() string {
	if len(d.Keys.Next()["ca.crt"]) > 0 || d.Keys.Succeeded() {
		return fileTrusted
	}
	return "ca.crt"
}

// restartOnTrust are the files by which a component that reads the authorities at its start alone is known: one that trusts others is another
// one, also when it is called just so.
func (d Description) restartOnTrust() []string {
	if d.trustFile() != fileTrusted {
		return nil
	}
	return []string{fileTrusted}
}

// rotate takes note of the step of a rotation that all components have taken, and says what it waits for.
func rotate(ctx context.Context, r *reconciler, cp *v1alpha1.ControlPlane, status health.Status) *operator.Outcome {
	if !status.Ready() {
		return nil // what is not ready is said of it
	}
	if cp.Spec.RotationStep(v1alpha1.CredentialCertificateAuthority) == v1alpha1.StepServe {
		if err := servesNext(ctx, r, cp); err != nil {
			o := operator.Retry(v1alpha1.ReasonComponentsStarting, fmt.Errorf("the API server does not show the certificate of the new authority yet: %w", err))
			return &o
		}
	}
	if cp.Spec.Rotation != nil && leaving(status) {
		// An API server that leaves has the credentials of the step before: it does not trust kubelets that follow this one, takes no tokens
		// that the one in its place signs, does not read what that one encrypts, and still takes what is to be trusted no more.
		o := operator.DoneUntil(v1alpha1.ReasonComponentsServing, "all components answer, and one with other credentials leaves", leavingCheck)
		return &o
	}
	cp.Status.Rotation = cp.Spec.Rotation.DeepCopy()
	return nil
}

// leavingCheck is the longest time between two looks at programs that leave.
const leavingCheck = 2 * time.Second

func leaving(status health.Status) bool {
	return slices.ContainsFunc(status.Components, func(c health.Component) bool { return c.Leaving > 0 })
}

// servesNext asks the API server for something as one who trusts the new authority alone.
func servesNext(ctx context.Context, r *reconciler, cp *v1alpha1.ControlPlane) error {
	secret, err := r.keys(ctx, cp)
	if err != nil {
		return err
	}
	kubeconfig, err := kubeconfigTrusting(ctx, r, cp, secret, splitBundle(secret).Next()["ca.crt"])
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, controllersTimeout)
	defer cancel()
	_, err = r.Ask(ctx, kubeconfig, "/readyz")
	return err
}
