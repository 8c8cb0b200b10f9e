package usage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/clusters/simulator"
)

func connect(t *testing.T, url string) *listing.Client {
	t.Helper()
	c, err := listing.New(&rest.Config{Host: url}, listing.Bounds{Call: 10 * time.Second, PageItems: 10, PageBytes: 64 << 10, Objects: 1000, Connections: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const (
	someNodes = `{"items":[{"metadata":{"name":"n1"},"status":{"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"3500m","memory":"7Gi","pods":"110"}}},
		{"metadata":{"name":"n2"},"status":{"capacity":{"cpu":"2"},"allocatable":{"cpu":"2"}}}]}`
	somePods = `{"items":[
		{"metadata":{"namespace":"a","name":"p1"},"spec":{"nodeName":"n1","containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"1"}}}]}},
		{"metadata":{"namespace":"a","name":"p1"},"spec":{"nodeName":"n1","containers":[{"resources":{"requests":{"cpu":"500m","memory":"1Gi"},"limits":{"cpu":"1"}}}]}},
		{"metadata":{"namespace":"b","name":"p1"},"spec":{"nodeName":"n1","containers":[{"resources":{"requests":{"cpu":"100m"}}}]}},
		{"metadata":{"namespace":"b","name":"ended"},"spec":{"nodeName":"n1","containers":[{"resources":{"requests":{"cpu":"9"}}}]},"status":{"phase":"Succeeded"}},
		{"metadata":{"namespace":"b","name":"waits"},"spec":{"containers":[{"resources":{"requests":{"cpu":"16"}}}]}},
		{"metadata":{"namespace":"b","name":"lost"},"spec":{"nodeName":"gone","containers":[{"resources":{"requests":{"cpu":"1"}}}]}}]}`
	someMetrics = `{"items":[{"metadata":{"name":"n1"},"timestamp":"2026-03-01T10:00:00+01:00","window":"20.5s","usage":{"cpu":"123456789n","memory":"2097152Ki"}},
		{"metadata":{"name":"other"},"usage":{"cpu":"1"}},{"metadata":{"name":"n2"},"window":"-1s","usage":{"cpu":"x"}}]}`
)

func gib(n int64) int64 { return n << 30 }

// read is what is read of a cluster that answers so.
func read(t *testing.T, nodes, pods, metrics any) (Report, error) {
	t.Helper()
	answers := map[string]any{nodesPath: nodes, podsPath: pods, metricsPath: metrics}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("fieldSelector"); (got == running) != (r.URL.Path == podsPath) {
			t.Errorf("of %s %q is asked for", r.URL.Path, got)
		}
		switch answer := answers[r.URL.Path].(type) {
		case int:
			w.WriteHeader(answer)
		case func(http.ResponseWriter):
			answer(w)
		default:
			fmt.Fprint(w, answer)
		}
	}))
	t.Cleanup(server.Close)
	return Read(t.Context(), connect(t, server.URL))
}

func TestRead(t *testing.T) {
	n1 := Node{
		Sum: Sum{Requests: Amounts{600, gib(1)}, Limits: Amounts{1000, 0}, Pods: 2}, Name: "n1",
		Capacity: Has{Amounts{4000, gib(8)}, 110}, Allocatable: Has{Amounts{3500, gib(7)}, 110},
	}
	n2 := Node{Name: "n2", Capacity: Has{Amounts{2000, 0}, 0}, Allocatable: Has{Amounts{2000, 0}, 0}}
	whole := Report{Nodes: []Node{n1, n2}, Unscheduled: Sum{Requests: Amounts{16000, 0}, Pods: 1}, Elsewhere: Sum{Requests: Amounts{1000, 0}, Pods: 1}}
	of := func(change func(*Report)) Report {
		r := whole
		r.Nodes = []Node{n1, n2}
		change(&r)
		return r
	}
	half := func(w http.ResponseWriter) { fmt.Fprint(w, strings.TrimSuffix(someMetrics, "]}")) }
	forbidden := "may not be read with KQueen's credential (403)"
	for name, c := range map[string]struct {
		nodes, pods, metrics any
		want                 Report
		err                  string
	}{
		"Measured": {someNodes, somePods, someMetrics, of(func(r *Report) {
			r.Nodes[0].Used = &Used{Amounts: Amounts{124, gib(2)}, At: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Window: 20500 * time.Millisecond}
			r.Nodes[1].Used = &Used{}
		}), ""},
		"NoMetrics":       {someNodes, somePods, 404, of(func(r *Report) { r.Unmeasured = "the cluster has no metrics-server (metrics.k8s.io)" }), ""},
		"MetricsAreDown":  {someNodes, somePods, 503, of(func(r *Report) { r.Unmeasured = "metrics.k8s.io: answered 503" }), ""},
		"MetricsAreShut":  {someNodes, somePods, 403, of(func(r *Report) { r.Unmeasured = "metrics.k8s.io: " + forbidden }), ""},
		"HalfOfMetrics":   {someNodes, somePods, half, of(func(r *Report) { r.Unmeasured = "metrics.k8s.io: read list: EOF" }), ""},
		"Empty":           {`{"items":[]}`, `{"items":null}`, `{"items":[]}`, Report{}, ""},
		"NodesAreShut":    {403, somePods, someMetrics, Report{Elsewhere: Sum{Requests: Amounts{1600, gib(1)}, Limits: Amounts{1000, 0}, Pods: 3}, Unscheduled: Sum{Requests: Amounts{16000, 0}, Pods: 1}, NotRead: []listing.NotRead{{Resource: "nodes", Reason: forbidden}}}, ""},
		"PodsAreShut":     {`{"items":[]}`, 403, 404, Report{NotRead: []listing.NotRead{{Resource: "pods", Reason: forbidden}}, Unmeasured: "the cluster has no metrics-server (metrics.k8s.io)"}, ""},
		"NodesFail":       {500, somePods, someMetrics, Report{}, "list nodes: answered 500"},
		"PodsFail":        {someNodes, 500, someMetrics, Report{}, "list pods: answered 500"},
		"PodsAreNotPods":  {someNodes, `{"items":[{"spec":7}]}`, someMetrics, Report{}, "list pods: read object: "},
		"NodesAreTooLong": {`{"items":["` + strings.Repeat("x", 1<<20) + `"]}`, somePods, someMetrics, Report{}, "list nodes: read list: answered more bytes than KQueen reads"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := read(t, c.nodes, c.pods, c.metrics)
			if c.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTooManyPods: an API server that lists without end is read as far as the bounds go, and the sum says so.
func TestTooManyPods(t *testing.T) {
	count := 0
	pages := func(w http.ResponseWriter) {
		fmt.Fprint(w, `{"metadata":{"continue":"more"},"items":[`)
		for range 10 {
			count++
			fmt.Fprintf(w, `{"metadata":{"name":"p%d"},"spec":{"nodeName":"n1","containers":[{"resources":{"requests":{"cpu":"9e15"}}}]}},`, count)
		}
		fmt.Fprint(w, `{"metadata":{"name":"p1"},"spec":{"nodeName":"n1"}}]}`)
	}
	got, err := read(t, someNodes, pages, 404)
	if err != nil {
		t.Fatal(err)
	}
	if n := got.Nodes[0]; n.Pods > 1000 || n.Requests.MilliCPU < most || len(got.NotRead) != 1 || got.NotRead[0].Resource != "pods" {
		t.Errorf("%+v, not read: %+v", n, got.NotRead)
	}
}

// TestSimulated: pods are counted on the nodes where they are.
func TestSimulated(t *testing.T) {
	fleet := simulator.New(1, 1, 3, 200)
	fleet.Cluster("sim-000").Churn(400)
	server := httptest.NewServer(fleet)
	t.Cleanup(server.Close)
	got, err := Read(t.Context(), connect(t, server.URL+"/clusters/sim-000"))
	if err != nil {
		t.Fatal(err)
	}
	pods, counted := map[string]map[string]bool{}, map[string]int{}
	for _, c := range fleet.Cluster("sim-000").Truth() {
		if pods[c.Node] == nil {
			pods[c.Node] = map[string]bool{}
		}
		pods[c.Node][c.Pod] = true
	}
	want := map[string]int{}
	for node, all := range pods {
		want[node] = len(all)
	}
	for _, n := range got.Nodes {
		if n.Pods > 0 {
			counted[n.Name] = n.Pods
		}
	}
	if got.Unscheduled.Pods > 0 {
		counted[""] = got.Unscheduled.Pods
	}
	if diff := cmp.Diff(want, counted); diff != "" || got.Elsewhere.Pods > 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
}
