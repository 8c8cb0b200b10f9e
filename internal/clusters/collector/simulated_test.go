package collector_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/collector"
	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/simulator"
)

// simulated starts simulated clusters, and a collector that watches them.
func simulated(t *testing.T, clusters, nodes, pods int) (*simulator.Fleet, *collecting) {
	t.Helper()
	fleet := simulator.New(1, clusters, nodes, pods)
	server := httptest.NewServer(fleet)
	t.Cleanup(server.Close)
	c := collect(t, quick(), func(name string) *rest.Config { return &rest.Config{Host: server.URL + "/clusters/" + name} })
	return fleet, c
}

// containers are those of a cluster as the store has them, in the words of the simulator.
func (r *recorder) containers(uid string) []simulator.Container {
	var out []simulator.Container
	for _, item := range r.of(uid, inventory.KindContainer) {
		out = append(out, simulator.Container{
			Namespace: item.Key.Namespace, Pod: item.Key.Name, UID: item.Key.UID, Name: item.Key.Part,
			Image: item.Container.Image.Reference, Digest: item.Container.Image.Digest, Node: item.Container.Node,
		})
	}
	slices.SortFunc(out, func(a, b simulator.Container) int {
		return slices.Compare([]string{a.Pod, a.Name}, []string{b.Pod, b.Name})
	})
	return out
}

// TestTruth: whatever happens in clusters, and to their watches, the store has in the end exactly what is there.
func TestTruth(t *testing.T) {
	fleet, c := simulated(t, 5, 3, 200)
	same := func() {
		t.Helper()
		for _, name := range fleet.Names() {
			truth := fleet.Cluster(name).Truth()
			c.store.until(t, func() string { return cmp.Diff(truth, c.store.containers(name)) })
		}
	}
	for _, name := range fleet.Names() {
		c.put(name, name)
	}
	same()
	steps := []struct {
		name string
		do   func(*simulator.Cluster)
	}{
		{"Churn", func(s *simulator.Cluster) { s.Churn(300) }},
		{"Cut", func(s *simulator.Cluster) { s.CutWatches(); s.Churn(100) }},
		{"Compacted", func(s *simulator.Cluster) { s.CutWatches(); s.Churn(100); s.Compact() }},
		{"Mixed", func(s *simulator.Cluster) { s.Churn(50); s.CutWatches(); s.Churn(50); s.Compact(); s.Churn(50) }},
	}
	for _, step := range steps {
		for _, name := range fleet.Names() {
			step.do(fleet.Cluster(name))
		}
		t.Log(step.name)
		same()
	}
	for _, name := range fleet.Names() {
		c.store.until(t, func() string { return missing(c.store, name) })
		var nodes []string
		for _, item := range c.store.of(name, inventory.KindNode) {
			nodes = append(nodes, fmt.Sprint(item.Key.Name, " ", item.Node.KubeletVersion, " ", item.Node.Runtime, " ", item.Node.Capacity.CPU))
		}
		want := []string{"node-0 v1.36.3 containerd://2.4.2 4000", "node-1 v1.36.3 containerd://2.4.2 4000", "node-2 v1.36.3 containerd://2.4.2 4000"}
		if diff := cmp.Diff(want, nodes); diff != "" {
			t.Errorf("nodes of %s, -want +got:\n%s", name, diff)
		}
		c.store.until(t, func() string { // pods and nodes, at the start and after their versions have expired
			if lists := fleet.Cluster(name).Lists(); lists < 4 {
				return fmt.Sprintf("%s was listed %d times, want 4 at least", name, lists)
			}
			return ""
		})
	}
}

// missing says that a cluster is not live.
func missing(r *recorder, uid string) string {
	if !r.isLive(uid) {
		return uid + " is not live: " + r.message(uid)
	}
	return ""
}

// TestStoreRefuses: what the store does not take is not lost, also when it was a whole list.
func TestStoreRefuses(t *testing.T) {
	fleet, c := simulated(t, 1, 1, 20)
	name := fleet.Names()[0]
	c.store.refuse = 5
	c.put(name, name)
	same := func() {
		t.Helper()
		truth := fleet.Cluster(name).Truth()
		c.store.until(t, func() string { return cmp.Diff(truth, c.store.containers(name)) })
	}
	same()
	c.store.mu.Lock()
	c.store.refuse = 5
	c.store.mu.Unlock()
	fleet.Cluster(name).Churn(50)
	same()
}

// TestLife: a cluster is watched from when it has a kubeconfig until it is deleted, and again when its credential or its UID is another.
func TestLife(t *testing.T) {
	fleet, c := simulated(t, 1, 1, 5)
	name := fleet.Names()[0]
	lists := func(more int) {
		t.Helper()
		before := fleet.Cluster(name).Lists()
		c.store.until(t, func() string { return missing(c.store, "uid-1") })
		if got := fleet.Cluster(name).Lists(); got < more {
			t.Errorf("there were %d lists, want %d at least (%d before)", got, more, before)
		}
	}
	c.put(name, "uid-1", func(o *v1alpha1.Cluster) { o.Status.Conditions = nil })
	if got := fleet.Cluster(name).Lists(); got != 0 {
		t.Errorf("there were %d lists without a kubeconfig", got)
	}
	c.put(name, "uid-1", func(o *v1alpha1.Cluster) { o.Annotations = map[string]string{"credential": noCredential} })
	if got := fleet.Cluster(name).Lists(); got != 0 {
		t.Errorf("there were %d lists without a credential", got)
	}
	c.put(name, "uid-1")
	lists(2)
	c.put(name, "uid-1", func(o *v1alpha1.Cluster) { o.Labels = map[string]string{"stage": "test"} })
	c.store.until(t, func() string {
		return cmp.Diff(map[string]string{"stage": "test"}, c.store.cluster("uid-1").Labels)
	})
	if got := fleet.Cluster(name).Lists(); got != 2 {
		t.Errorf("there were %d lists, want 2: labels are no other cluster", got)
	}
	c.put(name, "uid-1", func(o *v1alpha1.Cluster) { o.Annotations = map[string]string{"credential": "2"} })
	c.store.until(t, func() string { return cmp.Diff(2, c.store.whole(inventory.KindContainer)) })
	c.put(name, "uid-2")
	c.store.until(t, func() string { return cmp.Diff([]string{"uid-1"}, c.store.left()) })
	c.store.until(t, func() string { return missing(c.store, "uid-2") })
	c.remove(name)
	c.store.until(t, func() string { return cmp.Diff([]string{"uid-1", "uid-2"}, c.store.left()) })
	c.remove(name) // once more
	if got := len(c.store.left()); got != 2 {
		t.Errorf("clusters were ended %d times, want 2", got)
	}
}

// TestStart: clusters that were deleted while KQueen did not run are ended, and the others are counted.
func TestStart(t *testing.T) {
	fleet := simulator.New(1, 1, 1, 1)
	server := httptest.NewServer(fleet)
	t.Cleanup(server.Close)
	c := collect(t, quick(), func(name string) *rest.Config {
		if name == "dead" {
			return &rest.Config{Host: "http://127.0.0.1:1"}
		}
		return &rest.Config{Host: server.URL + "/clusters/" + name}
	}, func(to *collector.Config) {
		to.Known = func(context.Context) ([]string, error) { return []string{"gone"}, nil }
	})
	c.store.until(t, func() string { return cmp.Diff([]string{"gone"}, c.store.left()) })
	c.put(fleet.Names()[0], "uid")
	c.put("dead", "dead")
	c.store.until(t, func() string { return missing(c.store, "uid") })
	c.store.until(t, func() string { return cmp.Diff("version: dial: connect: connection refused", c.store.message("dead")) })
	registry := prometheus.NewRegistry()
	registry.MustRegister(c.Measures())
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				got[label.GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	if diff := cmp.Diff(map[string]float64{"live": 1, "lost": 1}, got); diff != "" {
		t.Errorf("clusters, -want +got:\n%s", diff)
	}
}

// TestDeadClusters: clusters that do not answer at all take no turns, so that one that answers again is observed at once.
func TestDeadClusters(t *testing.T) {
	fleet := simulator.New(1, 1, 1, 5)
	var dead atomic.Bool
	dead.Store(true)
	var lists atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if dead.Load() {
			if !strings.HasSuffix(r.URL.Path, "/version") && !strings.HasSuffix(r.URL.Path, "/metrics") {
				lists.Add(1)
			}
			<-r.Context().Done()
			return
		}
		fleet.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	limits := quick()
	limits.Call = 500 * time.Millisecond
	name := fleet.Names()[0]
	c := collect(t, limits, func(string) *rest.Config { return &rest.Config{Host: server.URL + "/clusters/" + name} })
	var all []string
	for i := range 30 {
		all = append(all, fmt.Sprint("c-", i))
		c.put(all[i], all[i])
	}
	for _, uid := range all {
		c.store.until(t, func() string { return cmp.Diff("version: the API server did not answer in time", c.store.message(uid)) })
	}
	if got := lists.Load(); got != 0 {
		t.Errorf("%d lists were asked of API servers that do not answer", got)
	}
	dead.Store(false)
	for _, uid := range all {
		c.store.until(t, func() string { return missing(c.store, uid) })
	}
}
