package upgrade

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// answers are what an API server says, by path and label selector; what is not there is 404.
type answers map[string]string

func (a answers) client(t *testing.T) *listing.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items, ok := a[strings.TrimSuffix(r.URL.Path+"?"+r.URL.Query().Get("labelSelector"), "?")]
		switch {
		case items == "403":
			w.WriteHeader(http.StatusForbidden)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprintf(w, `{"items":[%s]}`, items)
		}
	}))
	t.Cleanup(s.Close)
	c, err := listing.New(&rest.Config{Host: s.URL}, Bounds())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

const (
	nodesAt   = "/api/v1/nodes"
	crdsAt    = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	budgetsAt = "/apis/policy/v1/poddisruptionbudgets"
	checksAt  = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	changesAt = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
	slicesAt  = "/apis/discovery.k8s.io/v1/namespaces/policy/endpointslices?kubernetes.io/service-name="
)

func TestRead(t *testing.T) {
	hook := func(name, service, more string) string {
		return `{"name":"` + name + `","clientConfig":{"service":{"namespace":"policy","name":"` + service + `"}},` + more + `}`
	}
	const onPods, onNodes = `"rules":[{"apiGroups":["*"],"resources":["pods"]}]`, `"rules":[{"apiGroups":[""],"resources":["nodes/status","configmaps"]}]`
	got, err := Read(t.Context(), answers{
		nodesAt: `{"metadata":{"name":"n1","labels":{"kqueen.io/nodepool":"web"}},"status":{"nodeInfo":{"kubeletVersion":"v1.36.3"},"conditions":[{"type":"DiskPressure","status":"True"},{"type":"Ready","status":"True"}]}},
			{"metadata":{"name":"n2"},"status":{"conditions":[{"type":"Ready","status":"Unknown"}]}}`,
		crdsAt: `{"metadata":{"name":"good"},"spec":{"versions":[{"name":"v1","served":true}]},"status":{"storedVersions":["v1"]}},
			{"metadata":{"name":"old"},"spec":{"versions":[{"name":"v1","served":true}]},"status":{"storedVersions":["v1","v0"]}},
			{"metadata":{"name":"converted"},"spec":{"versions":[],"conversion":{"strategy":"Webhook","webhook":{"clientConfig":{"service":{"namespace":"policy","name":"gone"}}}}},"status":{}}`,
		budgetsAt: `{"metadata":{"namespace":"shop","name":"never"},"spec":{"maxUnavailable":0},"status":{"disruptionsAllowed":0,"expectedPods":2}},
			{"metadata":{"namespace":"shop","name":"fine"},"spec":{"maxUnavailable":1},"status":{"disruptionsAllowed":1,"expectedPods":2}}`,
		checksAt: `{"metadata":{"name":"c"},"webhooks":[` + strings.Join([]string{
			hook("broad", "there", onPods), hook("careful", "there", `"failurePolicy":"Ignore",`+onPods), hook("other", "there", `"rules":[{"apiGroups":["apps"],"resources":["*"]}]`),
			hook("labelled", "there", `"namespaceSelector":{"matchLabels":{"a":"b"}},`+onPods), hook("nodes", "there", `"namespaceSelector":{"matchLabels":{"a":"b"}},`+onNodes),
			hook("excluding", "there", `"namespaceSelector":{"matchExpressions":[{"key":"a","operator":"NotIn"}]},`+onPods),
			`{"name":"url","clientConfig":{"url":"https://example.com"},` + onPods + `}`,
		}, ",") + `]}`,
		changesAt:          `{"metadata":{"name":"m"},"webhooks":[` + hook("all", "away", `"rules":[{"apiGroups":["*"],"resources":["*/*"]}]`) + `]}`,
		slicesAt + "there": `{"endpoints":[{"conditions":{"ready":false}},{"conditions":{}}]}`,
		slicesAt + "away":  `{"endpoints":[{"conditions":{"ready":false}}]}`,
		slicesAt + "gone":  ``,
	}.client(t))
	if err != nil {
		t.Fatal(err)
	}
	there, away, gone := Service{"policy", "there"}, Service{"policy", "away"}, Service{"policy", "gone"}
	want := Seen{
		Nodes: []Node{{"n1", "web", "v1.36.3", true}, {Name: "n2"}},
		Definitions: []Definition{
			{Name: "old", Stored: []string{"v1", "v0"}, Served: map[string]bool{"v1": true}}, {Name: "converted", Served: map[string]bool{}, Converter: &gone},
		},
		Budgets: []Budget{{Namespace: "shop", Name: "never", MaxUnavailable: ptr.To(intstr.FromInt32(0)), Expected: 2}},
		Webhooks: []Webhook{
			{"ValidatingWebhookConfiguration c", "broad", there, []string{"pods"}}, {"ValidatingWebhookConfiguration c", "nodes", there, []string{"nodes"}},
			{"ValidatingWebhookConfiguration c", "excluding", there, []string{"pods"}}, {"MutatingWebhookConfiguration m", "all", away, []string{"nodes", "pods", "leases"}},
		},
		Answering: map[Service]bool{there: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReadPartly: what may not be read is named, and nothing is said against what was not looked at.
func TestReadPartly(t *testing.T) {
	got, err := Read(t.Context(), answers{
		nodesAt: "403", crdsAt: "", budgetsAt: "",
		checksAt: `{"metadata":{"name":"c"},"webhooks":[{"name":"w","clientConfig":{"service":{"namespace":"policy","name":"hidden"}},"rules":[{"apiGroups":[""],"resources":["*"]}]},
			{"name":"w","clientConfig":{"service":{"namespace":"..","name":"a/b"}},"rules":[{"apiGroups":[""],"resources":["*"]}]}]}`,
		slicesAt + "hidden": "403",
	}.client(t))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range got.NotRead {
		names = append(names, n.Resource)
	}
	if diff := cmp.Diff([]string{"nodes", "mutatingwebhookconfigurations", "endpointslices"}, names); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !got.Answering[Service{"policy", "hidden"}] || got.Answering[Service{"..", "a/b"}] {
		t.Errorf("answering: %v", got.Answering)
	}
}

// TestReadHostile: a server that does not answer in JSON is one that cannot be looked at.
func TestReadHostile(t *testing.T) {
	if _, err := Read(t.Context(), answers{nodesAt: `{"metadata":{"name":7}}`}.client(t)); err == nil {
		t.Error("a name that is a number is taken")
	}
}
