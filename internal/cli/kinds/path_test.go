package kinds

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

func TestSortBy(t *testing.T) {
	pool := func(name, version string, replicas int32, labels map[string]string) client.Object {
		p := &v1alpha1.NodePool{}
		p.Name, p.Spec.Version, p.Spec.Replicas, p.Labels = name, version, replicas, labels
		return p
	}
	for path, want := range map[string]string{
		".metadata.name":        "abc",
		"{.spec.version}":       "cab",
		"spec.replicas":         "bca",
		".metadata.labels.rank": "bca",
		".metadata.uid":         "abc",
	} {
		p, err := ParsePath(path)
		if err != nil {
			t.Fatal(err)
		}
		all := []client.Object{pool("a", "v1.36.9", 10, map[string]string{"rank": "2"}), pool("b", "v1.36.10", 1, nil), pool("c", "v1.35.4", 2, map[string]string{"rank": "1"})}
		SortBy(all, p)
		got := ""
		for _, o := range all {
			got += o.GetName()
		}
		if got != want {
			t.Errorf("by %s: %s, want %s", path, got, want)
		}
	}
	for _, bad := range []string{"", ".", "{.a", "{.a[}"} {
		if p, err := ParsePath(bad); err == nil {
			t.Errorf("%q is a path: %v", bad, p)
		}
	}
}

func TestCustomColumns(t *testing.T) {
	c := &v1alpha1.Cluster{}
	c.Name, c.Spec.Version, c.Spec.Network.ExtraSANs = "demo", "v1.36.3", []string{"a.example", "b.example\x1b[1m"}
	c.Status.Steps = []v1alpha1.Step{{Name: "Keys", Done: true}, {Name: "Ready"}}
	var got bytes.Buffer
	out, err := NewOutput(&got, Cluster, OutputOptions{Format: `custom-columns=NAME:.metadata.name,SANS:{.spec.network.extraSANs[*]},DONE:.status.steps[?(@.done==true)].name,NONE:.status.endpoint`})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := out.Print([]client.Object{c}, true); err != nil {
			t.Fatal(err)
		}
	}
	const row = "demo   a.example,b.example[1m   Keys   <none>\n"
	want := "NAME   SANS                     DONE   NONE\n" + row + row
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got.Reset()
	if out, err = NewOutput(&got, Cluster, OutputOptions{Format: "custom-columns=NAME:.metadata.name", NoHeaders: true}); err != nil {
		t.Fatal(err)
	}
	if err := out.Print([]client.Object{c}, false); err != nil || got.String() != "demo\n" {
		t.Errorf("without headers: %q, %v", got.String(), err)
	}
	for _, bad := range []string{"custom-columns=", "custom-columns=NAME", "custom-columns=NAME:", "custom-columns=NAME:{.a"} {
		if _, err := NewOutput(&got, Cluster, OutputOptions{Format: bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
