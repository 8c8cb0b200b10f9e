//go:build linux

package app

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/platform/operator"
)

// TestForgedReviews sends what only the API server may ask, as every user of the host can who finds the port. None of it is
// answered, and none of it is counted: the organization still gets all that its quota has.
func TestForgedReviews(t *testing.T) {
	known := controlplanetest.Webhooks(t)
	byCertificate := &admission.Caller{Name: known.Name, Authority: known.Authority}
	tests := map[string]struct {
		reason string
		caller *admission.Caller
		forged func(t *testing.T, registered *url.URL) (at *url.URL, certificates []tls.Certificate)
	}{
		"NoCertificate": {"A caller that says nothing of itself.", byCertificate, func(_ *testing.T, registered *url.URL) (*url.URL, []tls.Certificate) {
			return registered, nil
		}},
		"Impostor": {"Another name of the authority that has signed the API server's.", byCertificate, func(_ *testing.T, registered *url.URL) (*url.URL, []tls.Certificate) {
			return registered, []tls.Certificate{known.Impostor}
		}},
		"OwnAuthority": {"The name of the API server, signed by another authority.", byCertificate, func(t *testing.T, registered *url.URL) (*url.URL, []tls.Certificate) {
			t.Helper()
			return registered, []tls.Certificate{ownCertificate(t, known.Name)}
		}},
		"GuessedPath": {"With an API server that presents no certificate, the path is a secret.", nil, func(_ *testing.T, registered *url.URL) (*url.URL, []tls.Certificate) {
			return &url.URL{Scheme: registered.Scheme, Host: registered.Host, Path: "/validate/nodepools"}, nil
		}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			admin := controlplanetest.Client(t)
			run(t, Config{
				Engine: existing{controlplanetest.Config(t), tc.caller}, Dir: filepath.Join(t.TempDir(), "data"),
				Program: os.Args[0], Version: "test", Releases: t.TempDir(), Log: slog.New(slog.DiscardHandler),
			})
			const nodes = 2
			namespace := organizationOf(t, admin, nodes)
			registered, authority := webhookOf(t, admin, "nodepools.kqueen.io")

			at, certificates := tc.forged(t, registered)
			if answer := ask(t, at, authority, certificates, review(t, namespace, nodes, false)); answer != nil {
				t.Errorf("%s\nit is answered: %+v", tc.reason, answer)
			}
			// The same from the API server, which asks whether it could be, is answered: it is the caller that was wrong.
			if answer := ask(t, registered, authority, []tls.Certificate{known.Itself}, review(t, namespace, nodes, true)); answer == nil || !answer.Allowed {
				t.Errorf("the API server gets the answer %+v", answer)
			}
			pool := poolOf(namespace, "real", nodes)
			if err := admin.Create(t.Context(), pool); err != nil {
				t.Errorf("the quota is used up: %v", err)
			}
		})
	}
}

// ownCertificate is a client's, of an authority that is made for it.
func ownCertificate(t *testing.T, name string) tls.Certificate {
	t.Helper()
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "own", Lifetime: time.Hour}},
		Leaves:      []pki.Leaf{{Name: "own", Authority: "ca", CommonName: name, Usage: pki.Client, Lifetime: time.Hour}},
	}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := tls.X509KeyPair(keys["own.crt"], keys["own.key"])
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// organizationOf makes an organization that may have so many nodes, and returns its namespace.
func organizationOf(t *testing.T, admin client.WithWatch, nodes int32) string {
	t.Helper()
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{GenerateName: "forged-"}, Spec: v1alpha1.OrganizationSpec{
		Quota: &v1alpha1.Quota{Nodes: ptr.To(nodes)}, MachineProviders: []string{v1alpha1.ProviderLocal},
	}}
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := operator.WaitLooked(t.Context(), admin, &v1alpha1.OrganizationList{}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: o.OwnedNamespace()}, &corev1.Namespace{}); err != nil {
		t.Fatal(err)
	}
	return o.OwnedNamespace()
}

func poolOf(namespace, name string, nodes int32) *v1alpha1.NodePool {
	return &v1alpha1.NodePool{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.NodePoolSpec{ClusterName: "lost", Replicas: nodes},
	}
}

// webhookOf returns where a webhook is registered, and what signs its certificate.
func webhookOf(t *testing.T, admin client.Reader, name string) (*url.URL, []byte) {
	t.Helper()
	found := &registrationv1.ValidatingWebhookConfiguration{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: "kqueen"}, found); err != nil {
		t.Fatal(err)
	}
	for i := range found.Webhooks {
		w := &found.Webhooks[i]
		if w.Name != name {
			continue
		}
		at, err := url.Parse(*w.ClientConfig.URL)
		if err != nil {
			t.Fatal(err)
		}
		return at, w.ClientConfig.CABundle
	}
	t.Fatalf("there is no webhook %s", name)
	return nil, nil
}

// review is what an API server asks when a node pool is created.
func review(t *testing.T, namespace string, nodes int32, dry bool) []byte {
	t.Helper()
	pool, err := json.Marshal(poolOf(namespace, "forged", nodes))
	if err != nil {
		t.Fatal(err)
	}
	version := v1alpha1.GroupVersion
	data, err := json.Marshal(admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "forged", Namespace: namespace, Name: "forged", Operation: admissionv1.Create, DryRun: &dry,
			Kind:     metav1.GroupVersionKind{Group: version.Group, Version: version.Version, Kind: "NodePool"},
			Resource: metav1.GroupVersionResource{Group: version.Group, Version: version.Version, Resource: "nodepools"},
			Object:   runtime.RawExtension{Raw: pool},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// ask sends a review, and returns the answer to it; nil when there is none.
func ask(t *testing.T, at *url.URL, authority []byte, certificates []tls.Certificate, review []byte) *admissionv1.AdmissionResponse {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, Certificates: certificates}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at.String(), bytes.NewReader(review))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		t.Logf("refused: %v", err)
		return nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Logf("refused: %v", err)
		return nil
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &answer); err != nil || resp.StatusCode != http.StatusOK {
		t.Logf("refused: %s %s", resp.Status, body)
		return nil
	}
	return answer.Response
}
