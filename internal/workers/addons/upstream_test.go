package addons

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// program returns the path of one of upstream's programs.
func program(t *testing.T, name string) string {
	t.Helper()
	controlplanetest.Real(t)
	if _, err := controlplanetest.NodeParts(t.Context()); err != nil {
		t.Fatal(err)
	}
	binaries, err := controlplanetest.Kubernetes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return binaries.Path(name)
}

// run runs one of upstream's programs to its end and returns what it says.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program(t, name), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v:\n%s", name, err, out)
	}
	return string(out)
}

// startSigner starts a controller manager that does nothing but sign cluster-info, and stops it with the test.
func startSigner(t *testing.T) {
	t.Helper()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(adminKubeconfig(controlplanetest.Config(t)), kubeconfig); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, program(t, "kube-controller-manager"),
		"--kubeconfig="+kubeconfig, "--controllers=bootstrapsigner", "--leader-elect=false", "--secure-port=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was told to end, so it ends with an error
		if !t.Failed() {
			return
		}
		if text, err := os.ReadFile(log.Name()); err == nil {
			t.Logf("the controller manager said:\n%s", text)
		}
	})
}

func adminKubeconfig(config *rest.Config) clientcmdapi.Config {
	out := clientcmdapi.NewConfig()
	out.Clusters["plane"] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthorityData: config.CAData}
	out.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: config.CertData, ClientKeyData: config.KeyData}
	out.Contexts["plane"] = &clientcmdapi.Context{Cluster: "plane", AuthInfo: "admin"}
	out.CurrentContext = "plane"
	return *out
}

// joinPreflight runs the first phase of kubeadm join, which reads all that the later ones need. What it says
// of the host is ignored.
func joinPreflight(t *testing.T, p Params, token string) string {
	t.Helper()
	return run(t, "kubeadm", "join", "phase", "preflight", p.Server,
		"--token="+token, "--discovery-token-ca-cert-hash="+pin(t, p.CA), "--node-name=localhost",
		"--cri-socket=unix:///nonexistent.sock", "--ignore-preflight-errors=all", "--v=1")
}

// pin is the hash of a CA as kubeadm takes it.
func pin(t *testing.T, ca []byte) string {
	t.Helper()
	block, _ := pem.Decode(ca)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// mayApprove asks whether requests of a group's members for that sort of certificate are approved unseen.
func mayApprove(ctx context.Context, config *rest.Config, group, what string) (bool, error) {
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return false, err
	}
	review, err := c.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "somebody", Groups: []string{group},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: "certificates.k8s.io", Resource: "certificatesigningrequests", Verb: "create", Subresource: what,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}

// text returns what stands in a ConfigMap.
func text(t *testing.T, object client.Object, key string) string {
	t.Helper()
	value, found, err := unstructured.NestedString(object.(*unstructured.Unstructured).Object, "data", key)
	if err != nil || !found {
		t.Fatalf("%s has no %s: %v", object.GetName(), key, err)
	}
	return value
}
