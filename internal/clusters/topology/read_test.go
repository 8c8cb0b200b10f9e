package topology

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/simulator"
)

// bounds are small, so that what exceeds them is.
func bounds() listing.Bounds {
	return listing.Bounds{Call: 10 * time.Second, PageItems: 10, PageBytes: 64 << 10, Objects: 1000, Connections: 2}
}

func connect(t *testing.T, url string, b listing.Bounds) *listing.Client {
	t.Helper()
	c, err := listing.New(&rest.Config{Host: url}, b)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// cluster answers each path with a text or by a function; all other lists are empty.
type cluster struct {
	answers map[string]any

	mu    sync.Mutex
	asked map[string]string // what was accepted, by path
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	c.asked[r.URL.Path] = r.Header.Get("Accept")
	c.mu.Unlock()
	switch answer := c.answers[r.URL.Path].(type) {
	case string:
		fmt.Fprint(w, answer)
	case func(http.ResponseWriter, *http.Request):
		answer(w, r)
	default:
		fmt.Fprint(w, `{"items":[]}`)
	}
}

func serve(t *testing.T, answers map[string]any) (*cluster, *httptest.Server) {
	t.Helper()
	c := &cluster{answers: answers, asked: map[string]string{}}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return c, server
}

func refuse(status int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

// TestRead: what several lists have becomes one graph, and a kind that cannot be read is named and takes nothing from the others.
func TestRead(t *testing.T) {
	c, server := serve(t, map[string]any{
		"/api/v1/pods": `{"items":[{"metadata":{"namespace":"ns","name":"web-1-a","uid":"u3","labels":{"app":"web"},"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-1","uid":"u2"}]},
			"spec":{"nodeName":"n1"},"status":{"phase":"Running"}}]}`,
		"/apis/apps/v1/replicasets":                     `{"items":[{"metadata":{"namespace":"ns","name":"web-1","uid":"u2","ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"web","uid":"u1"}]}}]}`,
		"/apis/apps/v1/deployments":                     `{"items":[{"metadata":{"namespace":"ns","name":"web","uid":"u1"}}]}`,
		"/api/v1/services":                              `{"items":[{"metadata":{"namespace":"ns","name":"web","uid":"u4"},"spec":{"selector":{"app":"web"}}}]}`,
		"/apis/networking.k8s.io/v1/ingresses":          `{"items":[{"metadata":{"namespace":"ns","name":"web","uid":"u5"},"spec":{"defaultBackend":{"service":{"name":"shop"}}}}]}`,
		"/apis/networking.k8s.io/v1/networkpolicies":    refuse(http.StatusForbidden),
		"/apis/policy/v1/poddisruptionbudgets":          refuse(http.StatusInternalServerError),
		"/apis/gateway.networking.k8s.io/v1/httproutes": refuse(http.StatusNotFound),
		"/apis/autoscaling/v2/horizontalpodautoscalers": `not JSON`,
		"/apis/batch/v1/cronjobs":                       `{"items":[{"metadata":{"name":7}}]}`,
		"/api/v1/persistentvolumeclaims":                `{"metadata":{"continue":"x"},"items":[]}`,
	})
	g, err := Read(t.Context(), connect(t, server.URL, bounds()), nil, Caps{})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Referenced Node/n1", "Missing Service/ns/shop", "Deployment.apps/ns/web Owns ReplicaSet.apps/ns/web-1", "Ingress.networking.k8s.io/ns/web RoutesTo Service/ns/shop",
		"Pod/ns/web-1-a RunsOn Node/n1", "ReplicaSet.apps/ns/web-1 Owns Pod/ns/web-1-a", "Service/ns/web Selects Pod/ns/web-1-a",
	}
	if diff := cmp.Diff(want, drawn(g)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var resources []string
	for _, n := range g.NotRead {
		resources = append(resources, n.Resource)
		if n.Reason == "" {
			t.Errorf("%s was not read, without a reason", n.Resource)
		}
	}
	if diff := cmp.Diff([]string{"cronjobs", "horizontalpodautoscalers", "networkpolicies", "persistentvolumeclaims", "poddisruptionbudgets"}, resources); diff != "" {
		t.Errorf("not read (-want +got):\n%s", diff)
	}
	for path, accept := range c.asked {
		metaOnly := strings.HasPrefix(path, "/apis/apps") || strings.HasPrefix(path, "/apis/batch")
		if got := strings.Contains(accept, "as=PartialObjectMetadataList"); got != metaOnly {
			t.Errorf("of %s %s is accepted", path, accept)
		}
		if strings.Contains(path, "secrets") || strings.Contains(path, "configmaps") {
			t.Errorf("%s is read", path)
		}
	}
}

// TestReadNamespaces: only the namespaces that are asked about are read.
func TestReadNamespaces(t *testing.T) {
	c, server := serve(t, nil)
	if _, err := Read(t.Context(), connect(t, server.URL, bounds()), []string{"a", "b"}, Caps{}); err != nil {
		t.Fatal(err)
	}
	if len(c.asked) != 2*(len(others())+1) {
		t.Errorf("%d lists are read", len(c.asked))
	}
	for path := range c.asked {
		if !strings.Contains(path, "/namespaces/a/") && !strings.Contains(path, "/namespaces/b/") {
			t.Errorf("%s is read", path)
		}
	}
}

// TestHostileClusters: whatever an API server answers, the question ends with a graph within its caps, or an error.
func TestHostileClusters(t *testing.T) {
	const pod = `{"metadata":{"namespace":"ns","name":"%d-%s"}}`
	endless := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"items":[`)
		for i := 0; r.Context().Err() == nil; i++ {
			if _, err := fmt.Fprintf(w, pod+",", i, strings.Repeat("x", 100)); err != nil {
				return
			}
		}
	}
	pages := func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"metadata":{"continue":"more"},"items":[`+pod+`]}`, time.Now().UnixNano(), "")
	}
	begun := make(chan struct{}, 16)
	silent := func(_ http.ResponseWriter, r *http.Request) {
		begun <- struct{}{}
		<-r.Context().Done()
	}
	for name, c := range map[string]struct {
		path   string
		answer any
		caps   Caps
		err    string
		unread string
	}{
		"EndlessPage":    {"/api/v1/pods", endless, Caps{}, "list pods: read list: answered more bytes than KQueen reads", ""},
		"EndlessPages":   {"/api/v1/pods", pages, Caps{}, "", "pods"},
		"HugeObject":     {"/api/v1/pods", `{"items":[{"a":"` + strings.Repeat("x", 1<<20) + `"}]}`, Caps{}, "list pods: read list: answered more bytes than KQueen reads", ""},
		"TooMuchKept":    {"/api/v1/pods", pages, Caps{Kept: 10_000}, "", "pods"},
		"SilentOfPods":   {"/api/v1/pods", silent, Caps{}, "list pods: context canceled", ""},
		"SilentOfOthers": {"/api/v1/services", silent, Caps{}, "", "services"},
		"Redirects": {"/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		}, Caps{}, "list pods: answered 302", ""},
		"Deep":            {"/api/v1/pods", `{"items":[` + strings.Repeat(`[`, 20_000) + `]}`, Caps{}, "list pods: read list: invalid character", ""},
		"PodsAreUnknown":  {"/api/v1/pods", refuse(http.StatusForbidden), Caps{}, "", "pods"},
		"UnknownToServer": {"/api/v1/pods", refuse(http.StatusUnauthorized), Caps{}, "list pods: answered 401", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, server := serve(t, map[string]any{c.path: c.answer})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { // as a deadline does, at the worst moment
				select {
				case <-begun:
					cancel()
				case <-ctx.Done():
				}
			}()
			g, err := Read(ctx, connect(t, server.URL, bounds()), nil, c.caps)
			server.CloseClientConnections()
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			unread := map[string]bool{}
			for _, n := range g.NotRead {
				unread[n.Resource] = true
			}
			if !unread[c.unread] || len(g.Nodes) > bounds().Objects {
				t.Errorf("%d objects, not read: %+v", len(g.Nodes), g.NotRead)
			}
		})
	}
}

// TestSimulated: the pods of a cluster are in the graph, each on its node and once.
func TestSimulated(t *testing.T) {
	fleet := simulator.New(1, 1, 3, 200)
	fleet.Cluster("sim-000").Churn(400)
	server := httptest.NewServer(fleet)
	t.Cleanup(server.Close)
	g, err := Read(t.Context(), connect(t, server.URL+"/clusters/sim-000", bounds()), nil, Caps{})
	if err != nil {
		t.Fatal(err)
	}
	want, got := map[string]string{}, map[string]string{}
	for _, c := range fleet.Cluster("sim-000").Truth() {
		want["Pod/"+c.Namespace+"/"+c.Pod] = strings.TrimSuffix("Node/"+c.Node, "Node/")
	}
	for _, n := range g.Nodes {
		if n.Kind == "Pod" {
			got[n.ID()] = ""
		}
	}
	for _, e := range g.Edges {
		if e.As == RunsOn {
			got[e.From] = e.To
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(g.NotRead) > 0 {
		t.Errorf("not read: %+v, -want +got:\n%s", g.NotRead, diff)
	}
}
