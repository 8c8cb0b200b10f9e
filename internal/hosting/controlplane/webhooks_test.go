package controlplane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/internal/hosting/pki"
)

// TestAPIServerSaysWhoItIsToWebhooks: a webhook that lets in no caller without a certificate hears the API server, under the name in its own.
func TestAPIServerSaysWhoItIsToWebhooks(t *testing.T) {
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "callers", Lifetime: 24 * time.Hour}},
		Leaves:      []pki.Leaf{{Name: "client", Authority: "ca", CommonName: "the-apiserver", Usage: pki.Client, Lifetime: 12 * time.Hour}},
	}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan string, 10)
	hook := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard <- r.TLS.PeerCertificates[0].Subject.CommonName
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"none","allowed":true}}`)
	}))
	callers := x509.NewCertPool()
	callers.AppendCertsFromPEM(keys["ca.crt"])
	hook.TLS = &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: callers}
	hook.StartTLS()
	t.Cleanup(hook.Close)

	n := newTenant(t, *description(t).Issuer)
	n.Issuer, n.Cluster = nil, "" // as the admin plane, whose calls no egress carries
	n.Webhooks = &ClientCertificate{Certificate: keys["client.crt"], Key: keys["client.key"]}
	n.apply(t)
	admin := n.admin(t)
	registered := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "test"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: "test.kqueen.io", AdmissionReviewVersions: []string{"v1"}, SideEffects: ptr.To(admissionv1.SideEffectClassNone), FailurePolicy: ptr.To(admissionv1.Ignore),
		ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To(hook.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: hook.Certificate().Raw})},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
		}},
	}}}
	if err := admin.Create(t.Context(), registered); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the webhook is asked", func() bool {
		made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "asked-"}}
		if err := admin.Create(context.WithoutCancel(t.Context()), made); err != nil {
			t.Log(err)
		}
		return len(heard) > 0
	})
	var names []string
	for len(heard) > 0 {
		names = append(names, <-heard)
	}
	if slices.ContainsFunc(names, func(name string) bool { return name != "the-apiserver" }) {
		t.Errorf("the webhook hears %q", names)
	}
}
