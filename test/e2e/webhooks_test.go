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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
		err := create(ctx, tenant)
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

// create makes something about which webhooks are asked.
func create(ctx context.Context, tenant *kubernetes.Clientset) error {
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "hooked-"}}
	_, err := tenant.CoreV1().ConfigMaps(corev1.NamespaceDefault).Create(ctx, m, metav1.CreateOptions{})
	return err
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

// convertNoHost is callNoHost by the conversion of a CustomResourceDefinition.
func convertNoHost(t *testing.T, p *party) {
	var calls atomic.Int32
	host := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(host.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})
	scheme := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	tenant, err := client.New(p.config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	version := func(name string, stored bool) apiextensionsv1.CustomResourceDefinitionVersion {
		return apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: stored, Schema: &apiextensionsv1.CustomResourceValidation{
			OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)},
		}}
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gadgets.kqueen.test"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "kqueen.test", Scope: apiextensionsv1.ClusterScoped,
			Names:    apiextensionsv1.CustomResourceDefinitionNames{Plural: "gadgets", Singular: "gadget", Kind: "Gadget", ListKind: "GadgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version("v1", true), version("v2", false)},
			Conversion: &apiextensionsv1.CustomResourceConversion{
				Strategy: apiextensionsv1.WebhookConverter,
				Webhook: &apiextensionsv1.WebhookConversion{
					ClientConfig:             &apiextensionsv1.WebhookClientConfig{URL: &host.URL, CABundle: ca},
					ConversionReviewVersions: []string{"v1"},
				},
			},
		},
	}
	if err := tenant.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	gadget := func(version string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kqueen.test/" + version, "kind": "Gadget", "metadata": map[string]any{"name": "one"},
		}}
	}
	eventually(t, "the kind is served", func(ctx context.Context) error {
		return client.IgnoreAlreadyExists(tenant.Create(ctx, gadget("v1")))
	})
	eventually(t, "the conversion is refused", func(ctx context.Context) error {
		err := tenant.Get(ctx, client.ObjectKey{Name: "one"}, gadget("v2"))
		if err == nil || !strings.Contains(err.Error(), "are refused") {
			return fmt.Errorf("the refusal of a conversion is: %w", err)
		}
		return nil
	})
	if n := calls.Load(); n > 0 {
		t.Errorf("the API server of a tenant called this host %d times", n)
	}
}

// callNoStranger: an administrator of a cluster can make up a Node at any address. Its API server calls kubelets of the
// cluster's machines alone.
func callNoStranger(t *testing.T, p *party) {
	tenant := clientset(t, p.config)
	_, err := tenant.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "made-up"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// A patch: the cluster's controllers taint the Node meanwhile.
	status := `{"status":{"addresses":[{"type":"InternalIP","address":"198.51.100.9"}],"daemonEndpoints":{"kubeletEndpoint":{"Port":10250}}}}`
	if _, err := tenant.CoreV1().Nodes().PatchStatus(t.Context(), "made-up", []byte(status)); err != nil {
		t.Fatal(err)
	}
	err = tenant.RESTClient().Get().AbsPath("/api/v1/nodes/made-up:10250/proxy/healthz").Do(t.Context()).Error()
	if err == nil || !strings.Contains(err.Error(), "not the recorded address of a machine") {
		t.Errorf("a call to the kubelet of a Node that was made up: %v", err)
	}
}
