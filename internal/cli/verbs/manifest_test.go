package verbs

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// TestReadManifests: files are read in the order in which one object may need another, and say no more than is in them.
func TestReadManifests(t *testing.T) {
	dir := t.TempDir()
	const api = "apiVersion: kqueen.io/v1alpha1\n"
	for name, text := range map[string]string{
		"1.yaml":   api + "kind: NodePool\nmetadata: {name: p}\nspec: {clusterName: c}\n---\n# nothing\n",
		"2.json":   `{"apiVersion": "kqueen.io/v1alpha1", "kind": "Cluster", "metadata": {"name": "c", "uid": "7", "labels": {"a": "b"}}, "spec": {"version": "v1.36.3"}, "status": {}}`,
		"3.yml":    api + "kind: Organization\nmetadata: {name: o}\nspec: {displayName: O}\n",
		"read.me":  "no object",
		"in/4.yml": api + "kind: Cluster\nmetadata: {name: d, namespace: org-other}\n",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	read := func(recursive bool) (got []string) {
		all, err := readManifests(e, []string{dir}, recursive)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range all {
			got = append(got, strings.Join([]string{m.String(), m.namespace, m.said.Labels["a"], string(m.said.Spec)}, "|"))
		}
		return got
	}
	want := []string{`organization o|||{"displayName":"O"}`, `cluster c|org-default|b|{"version":"v1.36.3"}`, `nodepool p|org-default||{"clusterName":"c"}`}
	if diff := cmp.Diff(want, read(false)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{want[0], want[1], "cluster d|org-other||", want[2]}, read(true)); diff != "" {
		t.Errorf("with folders within (-want +got):\n%s", diff)
	}
}

func TestManifestErrors(t *testing.T) {
	const head, cluster = "apiVersion: kqueen.io/v1alpha1\n", "apiVersion: kqueen.io/v1alpha1\nkind: Cluster\n"
	cases := map[string]struct{ text, organization, want string }{
		"Empty":     {"# nothing\n", "", "-: there is no object in it"},
		"Version":   {"apiVersion: v1\nkind: Pod\n", "", `standard input, document 1: apiVersion: is "v1" and has to be "kqueen.io/v1alpha1"`},
		"Kind":      {head + "kind: ControlPlane\n", "", `standard input, document 1: kind: is "ControlPlane" and has to be one of Organization, IdentityProvider, Provisioner, BackupStore, Cluster, NodePool, Machine, BackupSchedule, Rotation, Upgrade`},
		"Field":     {cluster + "metadata: {name: a}\nspec: {verson: v1}\n", "", `standard input, document 1: unknown field "spec.verson"`},
		"NoName":    {cluster, "", "standard input, cluster: metadata.name: is missing"},
		"Twice":     {cluster + "metadata: {name: a}\n---\n" + cluster + "metadata: {name: a}\n", "", "standard input, cluster a: metadata.name: there are two of that name"},
		"Shared":    {cluster + "metadata: {name: a, namespace: kqueen-system}\n", "", `standard input, cluster a: metadata.namespace: is "kqueen-system", which is of no organization; leave it out, or write org-ORGANIZATION`},
		"Elsewhere": {cluster + "metadata: {name: a, namespace: org-b}\n", "c", `standard input, cluster a: metadata.namespace: is "org-b", but --org says c; leave one of them out`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := connection.New(strings.NewReader(c.text), &bytes.Buffer{}, &bytes.Buffer{})
			e.Flags.Organization = c.organization
			if _, err := readManifests(e, []string{"-"}, false); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

// TestDifference: what only the server says is no difference.
func TestDifference(t *testing.T) {
	before := &v1alpha1.Release{}
	before.Name, before.Namespace, before.ResourceVersion, before.Generation = "r", "org-a", "7", 1
	after := before.DeepCopy()
	after.ResourceVersion, after.Generation = "8", 2
	m := manifest{kind: kinds.Release}
	m.said.Name = "r"
	if text, err := difference(m, before, after); err != nil || len(text) > 0 {
		t.Errorf("of the same: %s, %v", text, err)
	}
	after.Labels = map[string]string{"a": "b"}
	text, err := difference(m, before, after)
	if err != nil || !strings.Contains(string(text), "\n--- live/release/r\n+++ applied/release/r\n") || !strings.Contains(string(text), "\n+  labels:\n+    a: b\n") {
		t.Errorf("got %s, %v", text, err)
	}
	if text, err := difference(m, nil, after); err != nil || !strings.Contains(string(text), "\n+kind: Release\n") && !strings.Contains(string(text), "+metadata:\n") {
		t.Errorf("of a new one: %s, %v", text, err)
	}
}
