//go:build linux

package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// admissionHook answers the admin API server's questions about clusters and node pools. Port, key and certificate
// are new in every life of the program: nothing of it has to be kept.
type admissionHook struct {
	client client.Client
	admits *admits
	log    *slog.Logger
}

const (
	hookName = "kqueen"
	hookPath = "/validate/"
	// hookTimeout is how long the API server waits for an answer, and we for a request.
	hookTimeout = 10 * time.Second
)

// serve begins to answer and tells the API server where to ask. The returned function ends it.
func (h *admissionHook) serve(ctx context.Context) (func(), error) {
	keys, _, err := pki.Issue(nil, pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-admission", Lifetime: 10 * 365 * 24 * time.Hour}},
		Leaves: []pki.Leaf{{
			Name: "server", Authority: "ca", CommonName: "kqueen-admission", Usage: pki.Server,
			DNSNames: []string{"localhost"}, Lifetime: 10 * 365 * 24 * time.Hour,
		}},
	}, nil, time.Now())
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(keys["server.crt"], keys["server.key"])
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for resource, handler := range h.admits.handlers(h.client.Scheme()) {
		mux.Handle(hookPath+resource, handler)
	}
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: hookTimeout, ReadTimeout: hookTimeout, WriteTimeout: 2 * hookTimeout, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(h.log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}},
	}
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			h.log.Error("admission ended", "error", err)
		}
	}()
	port := listener.Addr().(*net.TCPAddr).Port
	if err := h.register(ctx, port, keys["ca.crt"]); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return func() { _ = server.Close() }, nil
}

func (h *admissionHook) register(ctx context.Context, port int, ca []byte) error {
	want := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: hookName}}
	for _, resource := range slices.Sorted(maps.Keys(h.admits.handlers(h.client.Scheme()))) {
		want.Webhooks = append(want.Webhooks, webhookFor(resource, port, ca))
	}
	have := &admissionv1.ValidatingWebhookConfiguration{}
	err := h.client.Get(ctx, client.ObjectKey{Name: hookName}, have)
	if apierrors.IsNotFound(err) {
		return h.client.Create(ctx, want)
	}
	if err != nil {
		return err
	}
	want.ResourceVersion = have.ResourceVersion
	return h.client.Update(ctx, want)
}

// webhookFor sends what somebody asks of a resource, such as "nodepools/scale", to its path.
func webhookFor(resource string, port int, ca []byte) admissionv1.ValidatingWebhook {
	return admissionv1.ValidatingWebhook{
		Name:                    strings.ReplaceAll(resource, "/", ".") + "." + v1alpha1.GroupVersion.Group,
		AdmissionReviewVersions: []string{"v1"},
		SideEffects:             ptr.To(admissionv1.SideEffectClassNoneOnDryRun), // it counts what it lets through
		FailurePolicy:           ptr.To(admissionv1.Fail),
		TimeoutSeconds:          ptr.To(int32(hookTimeout / time.Second)),
		ClientConfig: admissionv1.WebhookClientConfig{
			URL:      ptr.To(fmt.Sprintf("https://localhost:%d%s%s", port, hookPath, resource)),
			CABundle: ca,
		},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule: admissionv1.Rule{
				APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version},
				Resources: []string{resource}, Scope: ptr.To(admissionv1.NamespacedScope),
			},
		}},
	}
}
