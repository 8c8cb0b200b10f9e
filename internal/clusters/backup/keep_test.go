package backup

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// TestKeepsWhatKubernetesStores: of the keys that a real API server writes, those of machines stay in a restore, and no others.
func TestKeepsWhatKubernetesStores(t *testing.T) {
	c := controlplanetest.Client(t)
	namespace := controlplanetest.Namespace(t, c)
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name + "-kept", Labels: map[string]string{"of": "TestKeepsWhatKubernetesStores"}}
	}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: corev1.NamespaceNodeLease}})); err != nil {
		t.Fatal(err)
	}
	for _, o := range []client.Object{
		&corev1.Node{ObjectMeta: meta("", "node")}, &storagev1.CSINode{ObjectMeta: meta("", "node")},
		&coordinationv1.Lease{ObjectMeta: meta(corev1.NamespaceNodeLease, "node")}, &coordinationv1.Lease{ObjectMeta: meta(namespace, "lease")},
		&certificatesv1.CertificateSigningRequest{ObjectMeta: meta("", "csr"), Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request(t), SignerName: "example.com/any", Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth},
		}},
		&corev1.Secret{ObjectMeta: meta(metav1.NamespaceSystem, "bootstrap-token-abc")}, &corev1.Secret{ObjectMeta: meta(namespace, "bootstrap-token-abc")},
		&corev1.ConfigMap{ObjectMeta: meta(namespace, "map")}, &corev1.Service{ObjectMeta: meta(namespace, "service"), Spec: corev1.ServiceSpec{ClusterIP: "None"}},
		&corev1.Event{ObjectMeta: meta(namespace, "event"), InvolvedObject: corev1.ObjectReference{Namespace: namespace}},
	} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Delete(t.Context(), o) })
	}
	var kept, brought []string
	for key := range controlplanetest.Stored(t) {
		if !strings.HasSuffix(key, "-kept") {
			continue
		}
		if shown := strings.ReplaceAll(key, namespace, "NAMESPACE"); Stays(key) {
			kept = append(kept, shown)
		} else {
			brought = append(brought, shown)
		}
	}
	slices.Sort(kept)
	slices.Sort(brought)
	if diff := cmp.Diff([]string{
		"certificatesigningrequests/csr-kept", "csinodes/node-kept", "events/NAMESPACE/event-kept", "leases/kube-node-lease/node-kept", "minions/node-kept",
		"secrets/kube-system/bootstrap-token-abc-kept",
	}, kept); diff != "" {
		t.Errorf("kept: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		"configmaps/NAMESPACE/map-kept", "leases/NAMESPACE/lease-kept", "secrets/NAMESPACE/bootstrap-token-abc-kept", "services/specs/NAMESPACE/service-kept",
	}, brought); diff != "" {
		t.Errorf("brought: -want +got:\n%s", diff)
	}
}

// request is one for a certificate.
func request(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
}
