package demo

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/simulator"
)

// TestRefusal: only a new installation is filled.
func TestRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		present Present
		want    string
	}{
		"new":          {Present{Organizations: []string{"default"}}, ""},
		"other user":   {Present{Organizations: []string{"default"}, Users: []string{"root"}}, ""},
		"empty":        {Present{}, ""},
		"organization": {Present{Organizations: []string{"default", "payments"}}, "it has the organization payments;"},
		"same name":    {Present{Organizations: []string{"default", "shop"}}, "it has the organization shop;"},
		"cluster":      {Present{Organizations: []string{"default"}, Clusters: []string{"default/demo"}}, "it has the cluster default/demo;"},
		"user":         {Present{Users: []string{"shop-owner"}}, "it has the user shop-owner;"},
		"several":      {Present{Organizations: []string{"a"}, Clusters: []string{"a/b", "a/c"}}, "it has the organization a and 2 more;"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Refusal(c.present)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestPlan: each simulated cluster is in one organization, and quotas leave room for what is made.
func TestPlan(t *testing.T) {
	access := simulator.AccessTo("https://127.0.0.1:1", nil, nil)
	var placed []string
	for _, o := range organizations() {
		own := simulatedOf(o.name, access.Clusters)
		for _, c := range own {
			placed = append(placed, c.Name)
		}
		clusters := len(own)
		if o.name == hostedIn {
			clusters++
			if int(*o.quota.Nodes) < poolNodes || int(*o.quota.Machines.Local) < poolNodes {
				t.Errorf("%s may not have %d nodes", o.name, poolNodes)
			}
		}
		if int(*o.quota.Clusters) < clusters {
			t.Errorf("%s gets %d clusters and may have %d", o.name, clusters, *o.quota.Clusters)
		}
	}
	if len(placed) != len(access.Clusters) {
		t.Errorf("%v are in organizations, of %v", placed, simulator.Names())
	}
}

// TestPasswords: what is written is read again, and what a reader adds is no user.
func TestPasswords(t *testing.T) {
	want := passwords{}
	for _, m := range users() {
		want[m.user] = newPassword()
	}
	if diff := cmp.Diff(want, parsePasswords(want.format())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	some := passwords{auditor: "one-two", "shop-owner": "three"}
	const file = `# Users of the demonstration: sign in with these at /portal/. A password that was changed there is not changed here.
# USER      PASSWORD  ROLES
auditor     one-two   shop:viewer,bank:viewer,games:viewer
shop-owner  three     shop:owner
`
	if diff := cmp.Diff(file, string(some.format())); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(passwords{"a": "b"}, parsePasswords([]byte("# a note of mine\n\nalone\n a b c d\n"))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
