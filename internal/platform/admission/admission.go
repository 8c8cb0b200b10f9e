// Package admission answers the admin plane's API server when it asks whether a caller may have an object of KQueen's.
//
// It hides the webhook: its listener, who may ask there, its registration, and the order of several validators of a kind.
// What may be had is said by the packages of the kinds, whose validators package app hands in.
package admission

import (
	"context"
	"crypto/rand"
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
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Hook is the webhook. All fields but When and Caller are required. Its port is new in every life of the program, so that only one process
// at a time answers: the last one that has called Serve.
type Hook struct {
	// Client registers the webhook.
	Client client.Client
	// Resources answer for each resource, with a subresource after a slash such as "nodepools/scale".
	Resources map[string]http.Handler
	// When says of a resource, in CEL, which requests are asked about; all where it says nothing. What is not asked about is
	// taken also while KQueen does not answer.
	When map[string]string
	// Certificate is for "localhost", and Authority, in PEM, has signed it.
	Certificate tls.Certificate
	Authority   []byte
	// Caller alone may ask. Nil for an API server that presents no certificate: then the path at which the webhook answers
	// is a secret, which those know who may read the configurations of webhooks.
	Caller *Caller
	Log    *slog.Logger
}

const (
	name = "kqueen"
	path = "/validate/"
	// timeout is how long the API server waits for an answer, and the webhook for a request.
	timeout = 10 * time.Second
)

// Serve begins to answer, tells the API server where to ask and returns once it asks there. The returned function ends it.
func (h *Hook) Serve(ctx context.Context) (func(), error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := path
	config := &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{h.Certificate}}
	if h.Caller == nil {
		at = "/" + rand.Text() + path
	} else if err := h.Caller.require(config); err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	for resource, handler := range h.Resources {
		mux.Handle(at+resource, handler)
	}
	proof := newProof()
	mux.Handle(at+proofPath, proof)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: timeout, ReadTimeout: timeout, WriteTimeout: 2 * timeout, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(h.Log.Handler(), slog.LevelDebug), BaseContext: func(net.Listener) context.Context { return ctx },
		TLSConfig: config,
	}
	go func() {
		if err := server.ServeTLS(listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			h.Log.Error("admission ended", "error", err)
		}
	}()
	url := fmt.Sprintf("https://localhost:%d%s", listener.Addr().(*net.TCPAddr).Port, at)
	err = h.register(ctx, url, proof)
	if err == nil {
		err = proof.await(ctx, h.Client)
	}
	if err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return func() { _ = server.Close() }, nil
}

// register tells the API server that resources are asked about below url, and the proof too.
func (h *Hook) register(ctx context.Context, url string, proof *proof) error {
	want := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []admissionv1.ValidatingWebhook{proof.webhook(url, h.Authority)}}
	for _, resource := range slices.Sorted(maps.Keys(h.Resources)) {
		want.Webhooks = append(want.Webhooks, h.webhook(resource, url))
	}
	have := &admissionv1.ValidatingWebhookConfiguration{}
	err := h.Client.Get(ctx, client.ObjectKey{Name: name}, have)
	if apierrors.IsNotFound(err) {
		return h.Client.Create(ctx, want)
	}
	if err != nil {
		return err
	}
	want.ResourceVersion = have.ResourceVersion
	return h.Client.Update(ctx, want)
}

// Suspend has the API server ask about nothing until a Hook is served again: the one of an earlier life of the program does not
// answer, and would keep everything from being written.
func Suspend(ctx context.Context, c client.Client) error {
	have := &admissionv1.ValidatingWebhookConfiguration{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, have)
	if err != nil || len(have.Webhooks) == 0 {
		return client.IgnoreNotFound(err)
	}
	have.Webhooks = nil
	if err := c.Update(ctx, have); err != nil {
		return fmt.Errorf("suspend admission: %w", err)
	}
	return nil
}

// webhook sends what a caller asks of a resource to its path below url.
func (h *Hook) webhook(resource, url string) admissionv1.ValidatingWebhook {
	hook := admissionv1.ValidatingWebhook{
		Name:                    strings.ReplaceAll(resource, "/", ".") + "." + v1alpha1.GroupVersion.Group,
		AdmissionReviewVersions: []string{"v1"},
		SideEffects:             ptr.To(admissionv1.SideEffectClassNoneOnDryRun), // limits count what they let through
		FailurePolicy:           ptr.To(admissionv1.Fail),
		TimeoutSeconds:          ptr.To(int32(timeout / time.Second)),
		ClientConfig: admissionv1.WebhookClientConfig{
			URL:      ptr.To(url + resource),
			CABundle: h.Authority,
		},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
			Rule: admissionv1.Rule{
				APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version},
				Resources: []string{resource}, Scope: ptr.To(admissionv1.AllScopes),
			},
		}},
	}
	if when := h.When[resource]; when != "" {
		hook.MatchConditions = []admissionv1.MatchCondition{{Name: "when", Expression: when}}
	}
	return hook
}

// Rules are what Serve needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{{
		APIGroups: []string{admissionv1.GroupName}, Resources: []string{"validatingwebhookconfigurations"}, Verbs: []string{"get", "create", "update"},
	}}
}
