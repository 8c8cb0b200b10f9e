package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	restclient "k8s.io/client-go/rest"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/fleet"
)

// askedClusters are clusters that answer questions themselves, all in the same way, and which of them were asked.
type askedClusters struct {
	mu     sync.Mutex
	asked  []string
	answer http.Handler // instead of the simulated cluster
	err    error        // of reaching one
}

func (c *askedClusters) reach(t *testing.T) fleet.Reach {
	t.Helper()
	simulated := simulator.New(1, 1, 2, 20)
	simulated.Cluster("sim-000").Churn(40)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		var handler http.Handler = simulated
		if c.answer != nil {
			handler = c.answer
		}
		c.mu.Unlock()
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return func(_ context.Context, cluster *v1alpha1.Cluster, within listing.Bounds) (*listing.Client, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = append(c.asked, cluster.Namespace+"/"+cluster.Name)
		if c.err != nil {
			return nil, c.err
		}
		return listing.New(&restclient.Config{Host: server.URL + "/clusters/sim-000"}, within)
	}
}

// set says how clusters answer from now on, and returns which were asked until now.
func (c *askedClusters) set(answer http.Handler, err error) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.asked
	c.asked, c.answer, c.err = nil, answer, err
	return was
}

// TestClustersOfOthers: what a cluster is asked, it is asked for callers who belong to its organization, and for no others.
func TestClustersOfOthers(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	for _, what := range []string{"topology", "usage"} {
		for _, c := range []struct {
			who, path string
			status    int
		}{
			{"viewer", "blue/clusters/thing", http.StatusOK},
			{"owner", "blue/clusters/thing", http.StatusOK},
			{"admin", "blue/clusters/thing", http.StatusOK},
			{local, "blue/clusters/thing", http.StatusOK},
			{"red", "blue/clusters/thing", http.StatusNotFound},
			{"nobody", "blue/clusters/thing", http.StatusNotFound},
			{"", "blue/clusters/thing", http.StatusUnauthorized},
			{"viewer", "blue/clusters/none", http.StatusNotFound},
			{"red", "red/clusters/thing", http.StatusNotFound},
			{"viewer", "none/clusters/thing", http.StatusNotFound},
		} {
			a := h.do(t.Context(), t, c.who, "GET", "/api/v1/organizations/"+c.path+"/"+what, "")
			if a.status != c.status {
				t.Errorf("%s of %s as %q: %d, want %d: %s", what, c.path, c.who, a.status, c.status, a.body)
			}
			want := []string(nil)
			if c.status == http.StatusOK {
				want = []string{"org-blue/thing"}
			}
			if diff := cmp.Diff(want, h.asked.set(nil, nil)); diff != "" {
				t.Errorf("%s of %s as %q: asked (-want +got):\n%s", what, c.path, c.who, diff)
			}
		}
	}
}

// TestClusterNow: an answer says which cluster it is of and as of when, and has what the cluster said.
func TestClusterNow(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	before := time.Now()
	var graph rest.ClusterTopology
	var use rest.ClusterUsage
	for path, into := range map[string]any{"topology": &graph, "usage": &use} {
		a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters/thing/"+path, "")
		if err := json.Unmarshal(a.body, into); a.status != http.StatusOK || err != nil {
			t.Fatalf("%s: %d %s, %v", path, a.status, a.body, err)
		}
	}
	for _, now := range []rest.ClusterNow{graph.ClusterNow, use.ClusterNow} {
		if now.Organization != "blue" || now.Cluster != "thing" || now.ClusterUID == "" || now.AsOf.Before(before) || len(now.NotRead) > 0 {
			t.Errorf("it is of %+v", now)
		}
	}
	if len(graph.Objects) == 0 || len(graph.Relations) == 0 || graph.Truncated {
		t.Errorf("%d objects, %d relations", len(graph.Objects), len(graph.Relations))
	}
	pods := use.Unscheduled.Pods
	for _, n := range use.Nodes {
		pods += n.Pods
	}
	if len(use.Nodes) != 2 || pods == 0 || use.Unmeasured == "" || use.Total.Capacity.MilliCPU != 8000 {
		t.Errorf("use %+v", use)
	}
	a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters/thing/topology?namespace=..%2Fx", "")
	if a.status != http.StatusUnprocessableEntity || a.problem(t).Errors[0].Pointer != "?namespace" {
		t.Errorf("a namespace that is a path: %d %s", a.status, a.body)
	}
}

// TestUnansweredClusters: a cluster that cannot be asked, or does not answer, is a problem that says so in one line, and no error inside.
func TestUnansweredClusters(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	says := func(status int, message string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(map[string]string{"message": message})
		})
	}
	for name, c := range map[string]struct {
		answer http.Handler
		err    error
		status int
		detail string
	}{
		"NotReady":     {nil, fleet.ErrNotReady, http.StatusServiceUnavailable, fleet.ErrNotReady.Error()},
		"PlaneFails":   {nil, errors.New("secrets of kqueen: out of ink"), http.StatusInternalServerError, "something went wrong inside"},
		"Fails":        {says(http.StatusInternalServerError, "etcd\x1b[2J is\ndown"), nil, http.StatusServiceUnavailable, "the cluster could not be read: list pods: answered 500: etcd[2J is down"},
		"Unauthorized": {says(http.StatusUnauthorized, ""), nil, http.StatusServiceUnavailable, "the cluster could not be read: list pods: answered 401"},
		"NoAnswer":     {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), nil, http.StatusServiceUnavailable, "the cluster could not be read: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			h.asked.set(c.answer, c.err)
			a := h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters/thing/topology", "")
			if a.status != c.status || !strings.HasPrefix(a.problem(t).Detail, c.detail) {
				t.Errorf("%d %s", a.status, a.body)
			}
			if strings.Contains(string(a.body), "ink") {
				t.Errorf("the caller learns %s", a.body)
			}
		})
	}
}

// TestQuestionsAtOnce: an organization whose clusters do not answer takes two places and no more, and gives them back.
func TestQuestionsAtOnce(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	begun, stop := make(chan struct{}, 8), make(chan struct{})
	h.asked.set(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		begun <- struct{}{}
		<-stop
		w.WriteHeader(http.StatusInternalServerError)
	}), nil)
	var waiting sync.WaitGroup
	for range 2 {
		waiting.Go(func() { h.do(t.Context(), t, "viewer", "GET", "/api/v1/organizations/blue/clusters/thing/usage", "") })
		<-begun
	}
	a := h.do(t.Context(), t, "owner", "GET", "/api/v1/organizations/blue/clusters/thing/topology", "")
	if a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("one too many: %d %s", a.status, a.body)
	}
	close(stop)
	waiting.Wait()
	h.asked.set(nil, nil)
	if a := h.do(t.Context(), t, "owner", "GET", "/api/v1/organizations/blue/clusters/thing/topology", ""); a.status != http.StatusOK {
		t.Errorf("the places are not given back: %d %s", a.status, a.body)
	}
}

// dryRun is what an upgrade of any cluster would be.
func dryRun(_ context.Context, u *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error) {
	if u.Spec.Version == "v1.1.0" {
		return nil, invalid.New("spec.version", "v1.1.0 is older")
	}
	return &v1alpha1.UpgradeStatus{
		FromVersion: "v1.36.3",
		Steps: []v1alpha1.UpgradeStep{
			{Name: "Backup", Kind: v1alpha1.StepBackup, State: v1alpha1.StepSkipped, Message: "spec.backup is false"},
			{Name: "Node pool p", Kind: v1alpha1.StepNodePool, State: v1alpha1.StepPending, Object: "p", Version: u.Spec.Version, Why: "it follows", LastSeconds: 7},
		},
		Findings: []v1alpha1.UpgradeFinding{{Check: v1alpha1.CheckNodesReady, Severity: v1alpha1.SeverityBlocks, Object: "Node n", Message: "the node is not ready"}},
	}, nil
}

// TestUpgradePlan: what would be is answered, and a version that cannot be is refused with its reason.
func TestUpgradePlan(t *testing.T) {
	h := newFixture(t)
	things(t, h)
	path := "/api/v1/organizations/blue/clusters/thing/upgrade-plan"
	for query, want := range map[string]string{
		"":                                "is missing",
		"?version=v1.1.0":                 "v1.1.0 is older",
		"?version=v1.37.2":                `"fromVersion":"v1.36.3","version":"v1.37.2"`,
		"?version=v1.37.2&backup=false":   `"skipped":"spec.backup is false"`,
		"?version=latest":                 "version",
		"?version=v1.37.2&backup=perhaps": "backup",
	} {
		a := h.do(t.Context(), t, "viewer", http.MethodGet, path+query, "")
		if !strings.Contains(string(a.body), want) {
			t.Errorf("%q is answered %s, want %q in it", query, a.body, want)
		}
	}
}
