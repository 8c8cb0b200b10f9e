package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubeconfigFor writes a kubeconfig with the contexts "one", which is current and leads to the server, and
// "two", which leads nowhere.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["one"] = &clientcmdapi.Cluster{Server: server}
	config.Clusters["two"] = &clientcmdapi.Cluster{Server: "http://two.example"}
	for name := range config.Clusters {
		config.Contexts[name] = &clientcmdapi.Context{Cluster: name}
	}
	config.CurrentContext = "one"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfig(t *testing.T) {
	path := kubeconfigFor(t, "http://one.example")
	cases := map[string]struct {
		target  Target
		host    string
		problem string
	}{
		"current context":      {target: Target{Kubeconfig: path}, host: "http://one.example"},
		"chosen context":       {target: Target{Kubeconfig: path, Context: "two"}, host: "http://two.example"},
		"context that is none": {target: Target{Kubeconfig: path, Context: "three"}, problem: `context "three" does not exist`},
		"no file":              {target: Target{Kubeconfig: path + "x"}, problem: "no such file"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Config(c.target)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Fatalf("got error %v, want one with %q", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got.Host != c.host {
				t.Errorf("host is %s, want %s", got.Host, c.host)
			}
		})
	}
}

// TestConnect calls a server that answers nothing but how it was called.
func TestConnect(t *testing.T) {
	agents := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case agents <- r.UserAgent():
		default:
		}
		http.Error(w, "no", http.StatusForbidden)
	}))
	defer server.Close()
	config, err := Config(Target{Kubeconfig: kubeconfigFor(t, server.URL), Version: "v1.2.3"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Connect(config, runtime.NewScheme())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(t.Context(), client.ObjectKey{Name: "a"}, &corev1.Namespace{}); err == nil {
		t.Error("a kind that the scheme does not know was read")
	}
	if _, err := ServerVersion(t.Context(), config); err == nil {
		t.Error("a version was made up")
	}
	if got := <-agents; got != "kqueen/v1.2.3" {
		t.Errorf("user agent is %q, want kqueen/v1.2.3", got)
	}
}

// tripper is a round tripper made of a function.
type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func TestDeadline(t *testing.T) {
	cases := map[string]struct {
		reason  string
		url     string
		bounded bool
	}{
		"call":        {"a server that hangs must not hang its client", "http://a/api?limit=1", true},
		"watch":       {"a watch is as long as its reader wants", "http://a/api?watch=true&limit=1", false},
		"not a watch": {"the parameter says no", "http://a/api?watch=false", true},
		"name of it":  {"only the parameter counts", "http://a/api/watch=true", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var call *http.Request
			d := &deadline{limit: time.Hour, next: tripper(func(r *http.Request) (*http.Response, error) {
				call = r
				return &http.Response{Body: io.NopCloser(strings.NewReader("x"))}, nil
			})}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := d.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			seen := call.Context()
			if _, bounded := seen.Deadline(); bounded != c.bounded {
				t.Errorf("bounded is %t, want %t: %s", bounded, c.bounded, c.reason)
			}
			if seen.Err() != nil {
				t.Errorf("the call ended before its body was read: %v", seen.Err())
			}
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if c.bounded && seen.Err() == nil {
				t.Error("the deadline is still kept after the body was closed")
			}
		})
	}
}

// TestDeadlineEndsCall wants a call to end when the server does not.
func TestDeadlineEndsCall(t *testing.T) {
	d := &deadline{limit: time.Millisecond, next: tripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://a/api", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := d.RoundTrip(req)
	if err == nil {
		resp.Body.Close()
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want that the deadline is exceeded", err)
	}
}
