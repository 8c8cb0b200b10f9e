//go:build linux

package imported

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/provisiontest"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/hosting/egress"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// written is a user's kubeconfig for a server.
func written(server string, ca []byte, user string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: a, user: u}}]
clusters: [{name: a, cluster: {server: "%s", certificate-authority-data: %s}}]
users: [{name: u, user: {%s}}]
`, server, base64.StdEncoding.EncodeToString(ca), user)
}

// plane is the test plane as the cluster of a user, whose certificate is in the kubeconfig.
func plane(t *testing.T) (config *rest.Config, kubeconfig []byte) {
	t.Helper()
	config = controlplanetest.User(t, "adopted")
	b64 := base64.StdEncoding.EncodeToString
	server := config.Host
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	return config, written(server, config.CAData, "client-certificate-data: "+b64(config.CertData)+", client-key-data: "+b64(config.KeyData))
}

// opening is a guard that lets through to a server of this host.
func opening(t *testing.T, server string) *connection.Guard {
	t.Helper()
	if u, err := url.Parse(server); err == nil && u.Host != "" {
		server = u.Host
	}
	at, err := netip.ParseAddrPort(server)
	if err != nil {
		t.Fatal(err)
	}
	return &connection.Guard{Allowed: []egress.Destination{{Range: netip.PrefixFrom(at.Addr(), at.Addr().BitLen()), Port: at.Port()}}}
}

func target(kubeconfig []byte) provision.Target {
	return provision.Target{
		Ref:                provision.Ref{UID: uuid.NewUUID(), Namespace: "acme", Name: "demo"},
		ClusterCredentials: provision.Credentials{v1alpha1.CredentialKubeconfig: kubeconfig},
	}
}

// TestContract: against a real API server, with the rights that every user has.
func TestContract(t *testing.T) {
	config, kubeconfig := plane(t)
	admin := controlplanetest.Client(t)
	provisiontest.Run(t, func(t *testing.T) provisiontest.Subject {
		guard := opening(t, config.Host)
		return provisiontest.Subject{
			Driver: New(Config{Guard: guard, Version: "test"}),
			Adopts: true,
			Want:   func(*testing.T) provision.Desired { return provision.Desired{Target: target(kubeconfig)} },
			Refused: map[string]provisiontest.Refusal{
				"Version": {Change: func(d *provision.Desired) { d.Version = "v1.36.3" }, Field: "spec.version"},
			},
			// All that a user who is in no group but those of every user could have left.
			Outside: func(t *testing.T, _, _ string) any { return everything(t, admin) },
			Break: func(*testing.T, provision.Ref) func() {
				had := guard.Allowed
				guard.Allowed = nil
				return func() { guard.Allowed = had }
			},
			Secrets: func(*testing.T, provision.Ref) [][]byte {
				return [][]byte{config.KeyData, []byte(base64.StdEncoding.EncodeToString(config.KeyData)), kubeconfig}
			},
		}
	})
}

// everything names the objects of a cluster with their resource versions.
func everything(t *testing.T, c client.Client) []string {
	t.Helper()
	var all []string
	for _, list := range []client.ObjectList{&corev1.NamespaceList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}, &corev1.ServiceAccountList{}} {
		if err := c.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		switch l := list.(type) {
		case *corev1.NamespaceList:
			all = append(all, namesOf(l.Items, func(o *corev1.Namespace) metav1.Object { return o })...)
		case *corev1.SecretList:
			all = append(all, namesOf(l.Items, func(o *corev1.Secret) metav1.Object { return o })...)
		case *corev1.ConfigMapList:
			all = append(all, namesOf(l.Items, func(o *corev1.ConfigMap) metav1.Object { return o })...)
		case *corev1.ServiceAccountList:
			all = append(all, namesOf(l.Items, func(o *corev1.ServiceAccount) metav1.Object { return o })...)
		}
	}
	return all
}

func namesOf[T any](items []T, as func(*T) metav1.Object) []string {
	var all []string
	for i := range items {
		o := as(&items[i])
		all = append(all, fmt.Sprintf("%T %s/%s %s", items[i], o.GetNamespace(), o.GetName(), o.GetResourceVersion()))
	}
	return all
}

// TestObserve: what a cluster answers, in words that help.
func TestObserve(t *testing.T) {
	status := func(path string, code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case path:
				w.WriteHeader(code)
				fmt.Fprint(w, body)
			case "/version":
				fmt.Fprint(w, `{"gitVersion":"v1.33.4-eks-1"}`)
			}
		}
	}
	tests := map[string]struct {
		answer http.HandlerFunc
		state  provision.State
		is     error
		says   string
	}{
		"Healthy":        {status("", 0, ""), provision.Healthy, nil, ""},
		"NotReady":       {status("/readyz", 500, "etcd failed"), provision.Degraded, nil, "status 500"},
		"NotTold":        {status("/readyz", 403, ""), provision.Healthy, nil, ""},
		"Unauthorized":   {status("/version", 401, ""), "", provision.ErrCredentials, "expired"},
		"Forbidden":      {status("/version", 403, ""), "", provision.ErrCredentials, "system:discovery"},
		"Broken":         {status("/version", 502, ""), "", provision.ErrUnreachable, "status 502"},
		"NoKubernetes":   {status("/version", 200, "<html>"), "", provision.ErrUnreachable, "not a Kubernetes API server"},
		"NoVersion":      {status("/version", 200, "{}"), "", provision.ErrUnreachable, "not a Kubernetes API server"},
		"HostileVersion": {status("/version", 200, `{"gitVersion":"v1\u001b[2J"}`), "", provision.ErrUnreachable, "not a Kubernetes API server"},
		"Redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1/", http.StatusFound)
		}, "", provision.ErrUnreachable, "redirect"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewTLSServer(tc.answer)
			t.Cleanup(s.Close)
			ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
			d := New(Config{Guard: opening(t, s.URL), Version: "test"})
			o, err := d.Observe(t.Context(), target(written(s.URL, ca, "token: abc")))
			said := o.Message
			if err != nil {
				said = err.Error()
			}
			if o.State != tc.state || !errors.Is(err, tc.is) || !strings.Contains(said, tc.says) {
				t.Errorf("got state %q, %q, %v", o.State, o.Message, err)
			}
			if err == nil && (o.Version != "v1.33.4-eks-1" || o.Endpoint != s.URL) {
				t.Errorf("got version %q, endpoint %q", o.Version, o.Endpoint)
			}
		})
	}
}

// TestUnreached: why there is no answer.
func TestUnreached(t *testing.T) {
	s := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(s.Close)
	config, _ := plane(t)
	open := opening(t, s.URL)
	tests := map[string]struct {
		guard *connection.Guard
		url   string
		ca    []byte
		says  string
	}{
		"Closed":      {&connection.Guard{}, s.URL, nil, "kqueen up --import-allow " + strings.TrimPrefix(s.URL, "https://")},
		"OtherCA":     {open, s.URL, config.CAData, "its certificate is not trusted"},
		"NoName":      {open, "https://cluster.invalid:6443", config.CAData, "its name cluster.invalid cannot be resolved"},
		"NotListened": {opening(t, "127.0.0.1:1"), "https://127.0.0.1:1", config.CAData, "connection refused"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := New(Config{Guard: tc.guard}).Observe(t.Context(), target(written(tc.url, tc.ca, "token: abc")))
			if !errors.Is(err, provision.ErrUnreachable) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %v; want ErrUnreachable that says %q", err, tc.says)
			}
		})
	}
}
