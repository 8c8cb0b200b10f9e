package inventory

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clitest"
)

// TestAsksOne: what is asked of one cluster is asked of it in the organization of the command, with the namespaces that are named.
func TestAsksOne(t *testing.T) {
	for args, want := range map[string]string{
		"topology --cluster shop":               "/api/v1/organizations/blue/clusters/shop/topology",
		"topology --cluster shop -n a -n b/../": "/api/v1/organizations/blue/clusters/shop/topology?namespace=a&namespace=b%2F..%2F",
		"usage --cluster a/b":                   "/api/v1/organizations/blue/clusters/a%2Fb/usage",
	} {
		asked := ""
		_, words, err := run(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = r.URL.String()
			clitest.Say(w, http.StatusOK, clitest.JSON, `{"truncated":true,"notRead":[{"resource":"pods","reason":"a\u001b[2J"}],"unmeasured":"none"}`)
		}), "", strings.Fields(args)...)
		if err != nil || asked != want {
			t.Errorf("%s: %v, asked %s", args, err, asked)
		}
		if !strings.Contains(words, "not read in full: pods: a") || strings.Contains(words, "\x1b") {
			t.Errorf("%s: said %q", args, words)
		}
	}
}

func TestTopologyRows(t *testing.T) {
	object := func(id, kind, namespace, name, state string) rest.TopologyObject {
		return rest.TopologyObject{ID: id, Kind: kind, Namespace: namespace, Name: name, State: state}
	}
	graph := &rest.ClusterTopology{
		Objects: []rest.TopologyObject{
			object("n1", "Node", "", "n1", "Referenced"), object("w", "Pod", "web", "w", "Present"), object("gw", "Gateway", "infra", "gw", "Missing"),
			object("r", "HTTPRoute", "web", "r", "Present"), object("idle", "Service", "web", "idle", "Present"), object("static", "Pod", "kube-system", "static", "Present"),
		},
		Relations: []rest.TopologyRelation{
			{From: "w", Type: "RunsOn", To: "n1"}, {From: "gw", Type: "RoutesTo", To: "r"}, {From: "n1", Type: "Owns", To: "static", Stale: true},
		},
	}
	want := [][]string{
		{"NAMESPACE", "FROM", "RELATION", "TO", "NOTE"},
		{"infra", "Gateway/gw", "RoutesTo", "web/HTTPRoute/r", "Gateway is missing"},
		{"kube-system", "Node/n1", "Owns", "Pod/static", "stale"},
		{"web", "Pod/w", "RunsOn", "Node/n1", ""},
		{"web", "Service/idle", "", "", ""},
	}
	if diff := cmp.Diff(want, topologyRows(graph)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestPictures: a name that would be something else in the language of a picture is a name.
func TestPictures(t *testing.T) {
	graph := &rest.ClusterTopology{
		ClusterNow: rest.ClusterNow{Organization: `b"`, Cluster: "c"},
		Objects: []rest.TopologyObject{
			{ID: "a", Kind: "Pod", Name: "a\"]; n9 [label=<b>x</b>\\\x1b[2J\nclick n0 `x` #quot;", State: "Present"}, {ID: "b", Kind: "Node", Name: "b", State: "Missing"},
			{ID: "c", Kind: "Secret", Namespace: "ns", Name: "c", State: "Referenced"},
		},
		Relations: []rest.TopologyRelation{{From: "a", Type: `Runs"On`, To: "b"}, {From: "a", Type: "Uses", To: "none"}},
	}
	for name, c := range map[string]struct{ got, want string }{
		"Dot": {dot(graph), `digraph "b\"/c" {
  rankdir=LR;
  node [shape=box];
  n0 [label="Pod/a\"]; n9 [label=<b>x</b>\\[2J click n0 ` + "`x`" + ` #quot;"];
  n1 [label="Node/b", color=red];
  n2 [label="ns/Secret/c", style=dashed];
  n0 -> n1 [label="Runs\"On"];
}
`},
		"Mermaid": {mermaid(graph), `flowchart LR
  n0["Pod/a#quot;]; n9 [label=#lt;b#gt;x#lt;/b#gt;\[2J click n0 #96;x#96; #35;quot;"]
  n1["Node/b"]:::missing
  n2["ns/Secret/c"]
  n0 -->|"Runs#quot;On"| n1
  classDef missing stroke:red
`},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestUsageRows(t *testing.T) {
	node := func(name string) rest.NodeUsage {
		return rest.NodeUsage{
			Node: name, UsageSum: rest.UsageSum{Pods: 3, Requests: rest.UsageAmounts{MilliCPU: 1999, Memory: 512 << 20}, Limits: rest.UsageAmounts{MilliCPU: 5000}},
			Allocatable: rest.InventoryAmounts{MilliCPU: 2000, Memory: 1 << 30, Pods: 110},
		}
	}
	u := &rest.ClusterUsage{Nodes: []rest.NodeUsage{node("n1")}, Unscheduled: rest.UsageSum{Pods: 1, Requests: rest.UsageAmounts{MilliCPU: 8000}}}
	header := []string{"NODE", "PODS", "CPU REQUESTS", "CPU LIMITS", "CPU USED", "MEMORY REQUESTS", "MEMORY LIMITS", "MEMORY USED"}
	n1 := []string{"n1", "3/110", "1999m (99%)", "5000m (250%)", "", "512Mi (50%)", "0Mi (0%)", ""}
	waits := []string{"(not scheduled)", "1", "8000m", "0m", "", "0Mi", "0Mi", ""}
	if diff := cmp.Diff([][]string{header, n1, waits}, usageRows(u, false)); diff != "" {
		t.Errorf("one node (-want +got):\n%s", diff)
	}
	u.Nodes = append(u.Nodes, node("n2"))
	u.Nodes[1].Used = &rest.UsageMeasured{UsageAmounts: rest.UsageAmounts{MilliCPU: 100, Memory: 256 << 20}}
	u.Unscheduled, u.Total = rest.UsageSum{}, rest.UsageTotal{UsageSum: rest.UsageSum{Pods: 6}, Used: &rest.UsageAmounts{MilliCPU: 100}}
	n2 := []string{"n2", "3/110", "1999m (99%)", "5000m (250%)", "100m (5%)", "512Mi (50%)", "0Mi (0%)", "256Mi (25%)"}
	all := []string{"(all)", "6", "0m", "0m", "100m", "0Mi", "0Mi", "0Mi"}
	if diff := cmp.Diff([][]string{header, n1, n2, all}, usageRows(u, false)); diff != "" {
		t.Errorf("two nodes (-want +got):\n%s", diff)
	}
}
