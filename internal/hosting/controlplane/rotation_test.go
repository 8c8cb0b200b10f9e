package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/hosting/runner"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

const (
	authorityRotation = v1alpha1.CredentialCertificateAuthority
	keyRotation       = v1alpha1.CredentialServiceAccountKey
	encryptRotation   = v1alpha1.CredentialEncryptionKey
)

// take has the control plane take a step of a rotation, or says that there is none any more.
func (p *plane) take(of v1alpha1.RotatedCredential, step v1alpha1.RotationStep) operatortest.Act {
	patch := []byte(`{"spec":{"rotation":null}}`)
	if step != "" {
		patch = fmt.Appendf(nil, `{"spec":{"rotation":{"uid":"c0ffee00-1111","credential":%q,"step":%q}}}`, of, step)
	}
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			return p.client.Patch(ctx, &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{Namespace: p.key.Namespace, Name: p.key.Name}},
				client.RawPatch("application/merge-patch+json", patch))
		},
		Done: func(ctx context.Context) (bool, error) {
			cp, err := p.get(ctx)
			return err == nil && ready(cp) && cp.Status.RotationStep(of) == step, err
		},
	}
}

// signerOf is the common name of who signed a certificate.
func signerOf(t *testing.T, data []byte) string {
	t.Helper()
	block, _ := pem.Decode(data)
	if block == nil {
		return ""
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	name, _, _ := strings.Cut(cert.Issuer.CommonName, "@")
	return name
}

// inUse says what of a control plane's keys is in use at a step.
type inUse struct {
	Authorities                int    // that the API server takes certificates of
	API, Kubelet, Admin, Signs string // who signed the certificates of the API server, that for kubelets, that of users; and what signs those of nodes
	Stored                     string // the keys of authorities in the Secret
}

func (p *plane) inUse(t *testing.T) inUse {
	t.Helper()
	files, secret := p.workloads[p.uid].Files, p.secret(t).Data
	named := func(flag string) []byte { // by an argument of the API server
		for _, arg := range p.workloads[p.uid].Components[0].Args {
			for name, file := range files {
				if arg == "--"+flag+"="+runner.FileRef(name) {
					return file.Data
				}
			}
		}
		return nil
	}
	var stored []string
	for _, name := range []string{"ca.key", "next-ca.key"} {
		if len(secret[name]) > 0 {
			stored = append(stored, name)
		}
	}
	return inUse{
		Authorities: strings.Count(string(named("client-ca-file")), "BEGIN CERTIFICATE"),
		API:         signerOf(t, files["apiserver.crt"].Data), Kubelet: signerOf(t, named("kubelet-client-certificate")),
		Admin: signerOf(t, secret["admin.crt"]), Signs: signerOf(t, files["ca.crt"].Data), Stored: strings.Join(stored, " "),
	}
}

// TestAuthorityRotates: at no step does anything show a certificate that another one does not trust since the step before.
func TestAuthorityRotates(t *testing.T) {
	const first, second = "kubernetes-ca", "kubernetes-ca-c0ffee00"
	p := newPlane(t)
	w := p.world()
	operatortest.Converge(t, w)
	before := p.secret(t).Data
	for _, tc := range []struct {
		step v1alpha1.RotationStep
		want inUse
	}{
		{v1alpha1.StepTrust, inUse{2, first, first, first, first, "ca.key next-ca.key"}},
		{v1alpha1.StepSign, inUse{2, first, first, second, second, "ca.key next-ca.key"}},
		{v1alpha1.StepServe, inUse{2, second, second, second, second, "ca.key next-ca.key"}},
		{v1alpha1.StepRemove, inUse{1, second, second, second, second, "ca.key"}},
		{"", inUse{1, second, second, second, second, "ca.key"}},
	} {
		w = operatortest.After(t, w, p.take(authorityRotation, tc.step))
		operatortest.Converge(t, w)
		if diff := cmp.Diff(tc.want, p.inUse(t)); diff != "" {
			t.Errorf("at step %q (-want +got):\n%s", tc.step, diff)
		}
	}
	if bytes.Equal(p.secret(t).Data["ca.key"], before["ca.key"]) {
		t.Error("the key of the old authority is still there")
	}
	// The Secret of before is another one's now.
	p.put(t, before)
	operatortest.Converge(t, p.until(func(cp *v1alpha1.ControlPlane) bool {
		c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionKeysReady)
		return c != nil && c.Reason == v1alpha1.ReasonKeysForeign
	}))
}

// TestServiceAccountKeyRotates: tokens of both keys are taken until the old one goes.
func TestServiceAccountKeyRotates(t *testing.T) {
	p := newPlane(t)
	w := p.world()
	operatortest.Converge(t, w)
	old := p.secret(t).Data
	for _, tc := range []struct {
		step     v1alpha1.RotationStep
		taken    int
		newSigns bool
	}{{v1alpha1.StepTrust, 2, false}, {v1alpha1.StepSign, 2, true}, {v1alpha1.StepRemove, 1, true}, {"", 1, true}} {
		w = operatortest.After(t, w, p.take(keyRotation, tc.step))
		operatortest.Converge(t, w)
		files := p.workloads[p.uid].Files
		taken, isOld := strings.Count(string(files["sa.pub"].Data), "BEGIN PUBLIC KEY"), bytes.Equal(files["sa.key"].Data, old["sa.key"])
		if taken != tc.taken || isOld == tc.newSigns {
			t.Errorf("at step %q tokens of %d keys are taken, and the old one signs: %t", tc.step, taken, isOld)
		}
	}
	if got := p.secret(t).Data; !bytes.Equal(got["ca.key"], old["ca.key"]) || len(got["next-sa.key"]) > 0 {
		t.Error("another key was replaced, or one is left")
	}
}

// encrypts says with which keys the API server encrypts, then which ones it reads, and what the control plane says that it trusts: those that it
// was created with are old, the others new.
func (p *plane) encrypts(t *testing.T, old []byte) string {
	t.Helper()
	cp, err := p.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	configuration := apiserverv1.EncryptionConfiguration{}
	if err := yaml.Unmarshal(p.workloads[p.uid].Files[fileEncryption].Data, &configuration); err != nil {
		t.Fatal(err)
	}
	said := func(isOld bool) string { return map[bool]string{true: "old", false: "new"}[isOld] }
	var out []string
	for _, k := range configuration.Resources[0].Providers[0].Secretbox.Keys {
		isOld := k.Secret == base64.StdEncoding.EncodeToString(old)
		if isOld != (k.Name == pki.FirstEncryptionKeyName) {
			t.Errorf("the key %s has the name %s", said(isOld), k.Name)
		}
		out = append(out, said(isOld))
	}
	for _, r := range cp.Status.Trust {
		if strings.HasSuffix(r.Name, rootEncryption) {
			out = append(out, r.Name+"="+said(r.Fingerprint == pki.SecretFingerprint(old)))
		}
	}
	return strings.Join(out, " ")
}

// TestEncryptionKeyRotates: what one key has encrypted is read until the last step, and a Secret of before is refused after it.
func TestEncryptionKeyRotates(t *testing.T) {
	p := newPlane(t)
	w := p.world()
	operatortest.Converge(t, w)
	old := p.secret(t).Data
	for _, tc := range []struct {
		step v1alpha1.RotationStep
		want string
	}{
		{v1alpha1.StepTrust, "old new encryption=old next-encryption=new"},
		{v1alpha1.StepSign, "new old encryption=old next-encryption=new"},
		{v1alpha1.StepServe, "new old encryption=new old-encryption=old"},
		{v1alpha1.StepRemove, "new encryption=new"},
		{"", "new encryption=new"},
	} {
		w = operatortest.After(t, w, p.take(encryptRotation, tc.step))
		operatortest.Converge(t, w)
		if diff := cmp.Diff(tc.want, p.encrypts(t, old[encryptionKey])); diff != "" {
			t.Errorf("at step %q (-want +got):\n%s", tc.step, diff)
		}
	}
	if got := p.secret(t).Data; !bytes.Equal(got["ca.key"], old["ca.key"]) || !bytes.Equal(got["sa.key"], old["sa.key"]) || len(got) != len(old)+1 {
		t.Errorf("another key was replaced, or one is left: there are %d, and were %d", len(got), len(old))
	}
	p.put(t, old)
	operatortest.Converge(t, p.until(func(cp *v1alpha1.ControlPlane) bool {
		c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionKeysReady)
		return c != nil && c.Reason == v1alpha1.ReasonKeysForeign
	}))
}

// TestRotationUnderFaults: whatever ends a run, each step of a rotation is taken with one new authority.
func TestRotationUnderFaults(t *testing.T) {
	after := func(t *testing.T, p *plane, of v1alpha1.RotatedCredential, steps ...v1alpha1.RotationStep) operatortest.World {
		w := p.world()
		for _, step := range steps {
			w = operatortest.After(t, w, p.take(of, step))
		}
		return w
	}
	tests := map[string]func(t *testing.T, p *plane) operatortest.World{
		"Trust": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, authorityRotation, v1alpha1.StepTrust)
		},
		"Sign": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, authorityRotation, v1alpha1.StepTrust, v1alpha1.StepSign)
		},
		"Serve": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, authorityRotation, v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepServe)
		},
		"Remove": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, authorityRotation, v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepServe, v1alpha1.StepRemove)
		},
		"RemoveKey": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, keyRotation, v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepRemove)
		},
		"TrustEncryptionKey": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, encryptRotation, v1alpha1.StepTrust)
		},
		"Encrypted": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, encryptRotation, v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepServe)
		},
		"RemoveEncryptionKey": func(t *testing.T, p *plane) operatortest.World {
			return after(t, p, encryptRotation, v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepServe, v1alpha1.StepRemove)
		},
	}
	for name, world := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.Run(t, func(t *testing.T) operatortest.World { return world(t, newPlane(t)) })
		})
	}
}

// TestStepWaitsForWhatLeaves: as long as an API server serves that has the credentials of the step before, no step is taken, of no rotation.
func TestStepWaitsForWhatLeaves(t *testing.T) {
	steps := []v1alpha1.RotationStep{v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepRemove}
	for _, of := range []v1alpha1.RotatedCredential{authorityRotation, keyRotation, encryptRotation} {
		for _, step := range steps {
			for _, leaving := range []int{0, 1} {
				cp := &v1alpha1.ControlPlane{}
				cp.Spec.Rotation = &v1alpha1.CredentialRotation{Credential: of, Step: step}
				status := health.Status{Components: []health.Component{{Name: APIServer, State: health.Ready, Leaving: leaving}}}
				o := rotate(t.Context(), nil, cp, status)
				if taken := cp.Status.Rotation != nil; taken != (leaving == 0) || (o == nil) != taken {
					t.Errorf("%s, step %s, %d leave: taken: %t; %v", of, step, leaving, taken, o)
				}
			}
		}
	}
	// A rotation that has ended waits for nothing.
	cp := &v1alpha1.ControlPlane{}
	if o := rotate(t.Context(), nil, cp, health.Status{Components: []health.Component{{Name: APIServer, State: health.Ready, Leaving: 1}}}); o != nil {
		t.Errorf("without a rotation: %v", o)
	}
}

// TestKubeletClientChangesWithItsProcess: no file with which an API server calls kubelets changes under it in a rotation.
func TestKubeletClientChangesWithItsProcess(t *testing.T) {
	p := newPlane(t)
	w := p.world()
	operatortest.Converge(t, w)
	seen := map[string][]byte{}
	for _, step := range []v1alpha1.RotationStep{"", v1alpha1.StepTrust, v1alpha1.StepSign, v1alpha1.StepServe, v1alpha1.StepRemove, ""} {
		w = operatortest.After(t, w, p.take(authorityRotation, step))
		operatortest.Converge(t, w)
		for name, file := range p.workloads[p.uid].Files {
			if !strings.HasPrefix(name, kubeletClient) {
				continue
			}
			if before, was := seen[name]; was && !bytes.Equal(before, file.Data) {
				t.Errorf("at step %q %s has changed", step, name)
			}
			seen[name] = file.Data
		}
	}
	if len(seen) != 4 {
		t.Errorf("there were %d files, want a certificate and a key of either authority", len(seen))
	}
}
