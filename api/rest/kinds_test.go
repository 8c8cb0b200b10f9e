package rest

import (
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoute(t *testing.T) {
	cases := map[string]struct {
		kind string
		verb Verb
		want Route
	}{
		"list":         {"NodePool", VerbList, Route{"listNodePools", http.MethodGet, "/organizations/{organization}/nodepools"}},
		"list all":     {"NodePool", VerbListAll, Route{"listAllNodePools", http.MethodGet, "/nodepools"}},
		"get":          {"NodePool", VerbGet, Route{"getNodePool", http.MethodGet, "/organizations/{organization}/nodepools/{nodePool}"}},
		"create":       {"Cluster", VerbCreate, Route{"createCluster", http.MethodPost, "/organizations/{organization}/clusters"}},
		"update":       {"Organization", VerbUpdate, Route{"updateOrganization", http.MethodPatch, "/organizations/{organization}"}},
		"replace":      {"Provisioner", VerbReplace, Route{"replaceProvisioner", http.MethodPut, "/organizations/{organization}/provisioners/{provisioner}"}},
		"delete":       {"Machine", VerbDelete, Route{"deleteMachine", http.MethodDelete, "/organizations/{organization}/machines/{machine}"}},
		"installation": {"Release", VerbList, Route{"listReleases", http.MethodGet, "/releases"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k, ok := KindNamed(c.kind)
			if !ok || !k.Can(c.verb) || !slices.Contains(k.AllVerbs(), c.verb) {
				t.Fatalf("%s cannot %s", c.kind, c.verb)
			}
			if diff := cmp.Diff(c.want, k.Route(c.verb)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCan(t *testing.T) {
	for name, v := range map[string]Verb{"Machine": VerbCreate, "Release": VerbListAll, "ControlPlane": VerbDelete} {
		if k, _ := KindNamed(name); k.Can(v) {
			t.Errorf("%s can %s", name, v)
		}
	}
	if _, ok := KindNamed("Pod"); ok {
		t.Error("there is a kind Pod")
	}
}
