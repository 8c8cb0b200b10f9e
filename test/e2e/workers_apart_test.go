//go:build linux

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// TestWorkersApart has two clusters with nodes and with the same ranges, and looks from each into the other.
func TestWorkersApart(t *testing.T) {
	needRoot(t)
	parallel(t, 4*time.Minute)
	i := started(t)
	i.ok("cluster", "create", "one", "--nodes", "2", "--wait")
	i.ok("cluster", "create", "two", "--nodes", "1", "--wait")
	one, two := i.workers("one"), i.workers("two")
	one.apply("workloads.yaml")
	one.apply("guarded.yaml")
	two.apply("workloads.yaml")
	for _, w := range []*workers{one, two} {
		w.kube("rollout", "status", "deployment/web", "--timeout=6m")
		w.kube("rollout", "status", "daemonset/agent", "--timeout=6m")
	}
	one.kube("wait", "--for=condition=Ready", "pod/keeper", "--timeout=6m")
	one.kube("rollout", "status", "deployment/guarded", "--timeout=6m")
	t.Run("Networks", func(t *testing.T) { networksApart(t, one, two) })
	t.Run("Tokens", func(t *testing.T) { tokensApart(t, one, two) })
	t.Run("Nodes", func(t *testing.T) { nodesApart(t, one) })
	t.Run("Budget", func(t *testing.T) { budgetHolds(t, one) })
}

// of are the machines of one cluster.
func (w *workers) of(cluster string) []v1alpha1.Machine {
	var out []v1alpha1.Machine
	for _, m := range w.machines() {
		if m.Spec.ClusterName == cluster {
			out = append(out, m)
		}
	}
	return out
}

// networksApart looks from a pod of one cluster for the nodes and pods of the other.
func networksApart(t *testing.T, one, two *workers) {
	foreign := one.of("one")[0].Status.Address
	pods := strings.Fields(one.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}"))
	own := strings.Fields(two.kube("get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].status.podIP}"))
	from := strings.TrimSpace(two.kube("get", "pods", "-l", "app=agent", "-o", "jsonpath={.items[0].metadata.name}"))
	for what, target := range map[string][2]string{
		"a NodePort of the other cluster": {foreign, "30080"},
		"a kubelet of the other cluster":  {foreign, "10250"},
	} {
		if r := two.tryKubectl(two.config, "", "exec", from, "--", "sh", "-c", "nc -w 2 "+target[0]+" "+target[1]+" </dev/null"); r.code == 0 {
			t.Errorf("a pod reaches %s at %v", what, target)
		}
	}
	// The ranges are the same, so an address means another pod, or none, in each cluster.
	for _, ip := range pods {
		r := two.tryKubectl(two.config, "GET / HTTP/1.0\r\n\r\n", "exec", "-i", from, "--", "nc", "-w", "2", ip, "8080")
		name := one.kube("get", "pods", "-o", fmt.Sprintf(`jsonpath={.items[?(@.status.podIP==%q)].metadata.name}`, ip))
		if strings.Contains(r.stdout, "web-"+name) {
			t.Errorf("a pod of cluster two reaches pod %s of cluster one at %s", name, ip)
		}
	}
	if len(own) == 0 || len(pods) == 0 {
		t.Errorf("no pods to look for: %v, %v", own, pods)
	}
}

const tokenSecret = `
apiVersion: v1
kind: Secret
type: bootstrap.kubernetes.io/token
metadata: {name: bootstrap-token-%[1]s, namespace: kube-system}
stringData:
  token-id: %[1]s
  token-secret: 0123456789abcdef
  usage-bootstrap-authentication: "true"
  auth-extra-groups: system:bootstrappers:kqueen
  expiration: %[2]q
`

// tokensApart uses a bootstrap token where it is not good.
func tokensApart(t *testing.T, one, two *workers) {
	soon := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	past := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	one.kubectl(one.config, fmt.Sprintf(tokenSecret, "aaaaaa", soon), "apply", "-f", "-")
	one.kubectl(one.config, fmt.Sprintf(tokenSecret, "bbbbbb", past), "apply", "-f", "-")
	whoami := func(w *workers, token string) error {
		config := w.tenant("default", strings.TrimSuffix(strings.TrimPrefix(filepath.Base(w.config), "default."), ".kubeconfig"))
		config.CertData, config.KeyData, config.BearerToken = nil, nil, token
		_, err := clientset(t, config).CertificatesV1().CertificateSigningRequests().Get(t.Context(), "none", metav1.GetOptions{})
		return err
	}
	if err := whoami(one, "aaaaaa.0123456789abcdef"); err == nil || strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("the token is not good in its own cluster, so nothing is tested: %v", err)
	}
	if err := whoami(two, "aaaaaa.0123456789abcdef"); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("a token of cluster one in cluster two: %v", err)
	}
	if err := whoami(one, "bbbbbb.0123456789abcdef"); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("an expired token: %v", err)
	}
}

// nodesApart acts with the identity of a node.
func nodesApart(t *testing.T, w *workers) {
	holder := strings.TrimSpace(w.kube("get", "pod", "keeper", "-o", "jsonpath={.spec.nodeName}"))
	for _, m := range w.of("one") {
		identity := identityOf(t, filepath.Join(w.dir, "run", "workloads", string(m.UID)))
		config := w.tenant("default", "one")
		config.CertData, config.KeyData = identity, identity
		node := clientset(t, config)
		_, err := node.CoreV1().Secrets("default").Get(t.Context(), "kept", metav1.GetOptions{})
		if allowed := err == nil; allowed != (m.Name == holder) {
			t.Errorf("node %s reads the secret of a pod on %s: %v", m.Name, holder, err)
		}
		foreign := holder
		if m.Name == holder {
			foreign = "another"
		}
		request := identityRequest(t, foreign)
		made, err := node.CertificatesV1().CertificateSigningRequests().Create(t.Context(), request, metav1.CreateOptions{})
		if err != nil {
			continue // refused at once is as good
		}
		w.neverApproved(t, made.Name)
	}
}

// identityOf is the certificate and key of a machine's node.
func identityOf(t *testing.T, machine string) []byte {
	t.Helper()
	data, err := keptByKubelet(machine, "kubelet-client")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// keptByKubelet is the newest certificate of that name, with its key, that the kubelet of the machine in that folder keeps. Each is a file named by
// its time; a link without one names the newest, but by its path in the machine.
func keptByKubelet(machine, name string) ([]byte, error) {
	files, err := filepath.Glob(filepath.Join(machine, "root", "lib", "kubelet", "pki", name+"-2*.pem"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no %s in %s: %w", name, machine, fs.ErrNotExist)
	}
	return os.ReadFile(slices.Max(files))
}

// identityRequest asks for the identity of a node.
func identityRequest(t *testing.T, node string) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	name := pkix.Name{CommonName: "system:node:" + node, Organization: []string{"system:nodes"}}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: name}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "foreign-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages:     []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}
}

// neverApproved waits until the machines were looked at again, and wants no certificate for the request.
func (w *workers) neverApproved(t *testing.T, name string) {
	t.Helper()
	admin := clientset(t, w.tenant("default", "one"))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	again := time.NewTicker(look)
	defer again.Stop()
	for ctx.Err() == nil {
		got, err := admin.CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range got.Status.Conditions {
			if c.Type == certificatesv1.CertificateApproved {
				t.Fatalf("a node got a foreign name: %+v", got.Status)
			}
		}
		<-again.C
	}
}

// budgetHolds scales down while a PodDisruptionBudget refuses, and then while it does not.
func budgetHolds(t *testing.T, w *workers) {
	before := w.of("one")
	w.ok("nodepool", "scale", "one", "--nodes", "1")
	eventually(t, "a machine says what keeps it", func(context.Context) error {
		for _, m := range w.of("one") {
			for _, c := range m.Status.Conditions {
				if c.Type == v1alpha1.ConditionDrained && strings.Contains(c.Message, "guarded") {
					return nil
				}
			}
		}
		return fmt.Errorf("no machine does")
	})
	if len(w.of("one")) != len(before) {
		t.Error("a machine went although the budget refuses")
	}
	w.kube("scale", "deployment/guarded", "--replicas=1")
	w.kube("delete", "pdb", "guarded")
	w.ok("nodepool", "wait", "one")
	if n := len(w.of("one")); n != 1 {
		t.Errorf("%d machines are left, want 1", n)
	}
}
