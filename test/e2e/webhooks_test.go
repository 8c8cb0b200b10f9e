//go:build linux

package e2e

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// callNoHost: an administrator of a cluster can have its API server call any URL, by webhooks. None reaches this host, nor is
// any name looked up; the error says why and what to do instead.
func callNoHost(t *testing.T, p *party) {
	var calls atomic.Int32
	host := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(host.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})
	at, err := url.Parse(host.URL)
	if err != nil {
		t.Fatal(err)
	}
	tenant := clientset(t, p.config)
	for n, name := range []string{"127.0.0.1", "localhost", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "169.254.169.254"} {
		where := "https://" + net.JoinHostPort(name, at.Port()) + "/hook"
		for kind, hook := range map[string]func(*testing.T, *kubernetes.Clientset, string, admissionv1.WebhookClientConfig){"validating": validating, "mutating": mutating} {
			t.Run(kind+" "+name, func(t *testing.T) {
				webhook := fmt.Sprintf("%s-%d.kqueen.test", kind, n)
				hook(t, tenant, webhook, admissionv1.WebhookClientConfig{URL: &where, CABundle: ca})
				eventuallyRefused(t, tenant, webhook)
			})
		}
	}
	if n := calls.Load(); n > 0 {
		t.Errorf("the API server of a tenant called this host %d times", n)
	}
}

// eventuallyRefused creates until the API server has taken note of the webhook. Before that it refuses nothing.
func eventuallyRefused(t *testing.T, tenant *kubernetes.Clientset, webhook string) {
	t.Helper()
	eventually(t, "the webhook is called", func(ctx context.Context) error {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "hooked-"}}
		_, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).Create(ctx, m, metav1.CreateOptions{})
		if err == nil {
			return errors.New("it was not called")
		}
		for _, want := range []string{webhook, "are refused", "clientConfig.service"} {
			if !strings.Contains(err.Error(), want) {
				return fmt.Errorf("the refusal does not say %q: %w", want, err)
			}
		}
		return nil
	})
}

var configMaps = []admissionv1.RuleWithOperations{{
	Operations: []admissionv1.OperationType{admissionv1.Create},
	Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
}}

func validating(t *testing.T, tenant *kubernetes.Clientset, name string, to admissionv1.WebhookClientConfig) {
	t.Helper()
	c := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "by-url"}, Webhooks: []admissionv1.ValidatingWebhook{{
		Name: name, ClientConfig: to, Rules: configMaps, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"}, FailurePolicy: ptr.To(admissionv1.Fail),
	}}}
	configurations := tenant.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	if _, err := configurations.Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's own context has ended
		if err := configurations.Delete(context.WithoutCancel(t.Context()), c.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func mutating(t *testing.T, tenant *kubernetes.Clientset, name string, to admissionv1.WebhookClientConfig) {
	t.Helper()
	c := &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "by-url"}, Webhooks: []admissionv1.MutatingWebhook{{
		Name: name, ClientConfig: to, Rules: configMaps, SideEffects: ptr.To(admissionv1.SideEffectClassNone),
		AdmissionReviewVersions: []string{"v1"}, FailurePolicy: ptr.To(admissionv1.Fail),
	}}}
	configurations := tenant.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := configurations.Create(t.Context(), c, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's own context has ended
		if err := configurations.Delete(context.WithoutCancel(t.Context()), c.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}
