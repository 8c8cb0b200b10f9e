package kube

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
)

func kubeconfig(server string) []byte {
	return []byte(`apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "` + server + `"}}]
users: [{name: c, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: c}}]
`)
}

// TestDirectKeepsOneClient: a client that is made anew asks the cluster anew which kinds there are.
func TestDirectKeepsOneClient(t *testing.T) {
	r := NewRemotes(nil, runtime.NewScheme(), "test")
	direct := func(name, server string) any {
		t.Helper()
		c, err := r.Direct(name, kubeconfig(server))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := direct("a", "https://192.0.2.1"), direct("a", "https://192.0.2.1")
	if first != second {
		t.Error("the same kubeconfig under the same name: want the same client")
	}
	if direct("b", "https://192.0.2.1") == first {
		t.Error("another name: want another client")
	}
	moved := direct("a", "https://192.0.2.2")
	if moved == first || direct("a", "https://192.0.2.2") != moved {
		t.Error("another kubeconfig: want another client, which is kept then")
	}
	r.Forget("a")
	if direct("a", "https://192.0.2.2") == moved {
		t.Error("after Forget: want a new client")
	}
	if len(r.clients) != 2 {
		t.Errorf("want two clients to be kept, got %d", len(r.clients))
	}
}

func TestDirectNamesTheClusterWhoseKubeconfigIsBad(t *testing.T) {
	_, err := NewRemotes(nil, runtime.NewScheme(), "test").Direct("demo", []byte("{"))
	if err == nil || !strings.HasPrefix(err.Error(), "kubeconfig of demo: ") {
		t.Errorf("got %v", err)
	}
}
