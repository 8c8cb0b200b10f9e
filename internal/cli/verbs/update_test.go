package verbs

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

func TestParseChanges(t *testing.T) {
	cases := map[string]struct {
		words []string
		want  map[string]any
		bad   string
	}{
		"none":              {nil, map[string]any{}, ""},
		"set and removed":   {[]string{"team=blue", "empty=", "old-", "a=b=c", "x.io/y-z=1", "dash-=2"}, map[string]any{"team": "blue", "empty": "", "old": nil, "a": "b=c", "x.io/y-z": "1", "dash-": "2"}, ""},
		"neither":           {[]string{"team"}, nil, `"team"`},
		"set twice":         {[]string{"a=1", "a=2"}, nil, `"a=2"`},
		"set and not":       {[]string{"a=1", "a-"}, nil, `"a-"`},
		"no key to set":     {[]string{"=1"}, nil, `"=1"`},
		"no key to remove":  {[]string{"-"}, nil, `"-"`},
		"nothing":           {[]string{""}, nil, `""`},
		"only what is good": {[]string{"a=1", "b"}, nil, `"b"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseChanges(c.words)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (c.bad == "") || err != nil && !strings.HasPrefix(err.Error(), c.bad+" has to be KEY=VALUE or KEY-") {
				t.Errorf("got %v, want %q", err, c.bad)
			}
		})
	}
}

func TestSpecPatch(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"":                               {},
		`{"version":"v1.36.3"}`:          {"version": "v1.36.3"},
		"replicas: 3\nmaxReplicas: null": {"replicas": 3.0, "maxReplicas": nil},
		"{}":                             nil,
		"null":                           nil,
		"version":                        nil,
		"[1]":                            nil,
		"a: 1\na: 2":                     nil,
		`{"a":`:                          nil,
	} {
		got, err := SpecPatch(text)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (want != nil) {
			t.Errorf("%q: %v (-want +got):\n%s", text, err, diff)
		}
	}
}

// TestDecodeRefuses: what a file holds that is no object of the kind is named in the words of the file, with its place.
func TestDecodeRefuses(t *testing.T) {
	const good = "apiVersion: kqueen.io/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n"
	for text, want := range map[string]string{
		"hello":                 "f, document 1: has to be an object with apiVersion, kind, metadata and spec, and is a string",
		"- a\n- b\n":            "f, document 1: has to be an object with apiVersion, kind, metadata and spec, and is a list",
		good + "---\nkind: 5\n": "f, document 2: kind: has to be a string and is a number",
		good + "---\n{":         "f, document 2: ",
		good + "spec: {network: {extraSANs: 5}}\n": "f, document 1: spec.network.extraSANs: has to be a list and is a number",
		"{}": `f, document 1: apiVersion: is "" and has to be "kqueen.io/v1alpha1"`,
		"apiVersion: v1\nkind: List\nitems: []\n":                                                                         "f holds no cluster",
		"apiVersion: v1\nkind: List\nitems: {}\n":                                                                         "f, document 1: items: has to be a list and is an object",
		"apiVersion: v1\nkind: List\nitem: []\n":                                                                          `f, document 1: unknown field "item"`,
		"apiVersion: v1\nkind: List\nitems: [a]\n":                                                                        "f, document 1: items[0]: has to be an object with apiVersion, kind, metadata and spec, and is a string",
		"apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List}]\n":                                             `f, document 1: items[0]: apiVersion: is "v1" and has to be "kqueen.io/v1alpha1"`,
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kqueen.io/v1alpha1\n  kind: NodePool\n":                        `f, document 1: items[0]: kind: is "NodePool" and has to be "Cluster"`,
		"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kqueen.io/v1alpha1\n  kind: Cluster\n  spec: {versions: v1}\n": `f, document 1: items[0]: unknown field "spec.versions"`,
	} {
		got, err := decodeObjects(kinds.Cluster, "f", strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "v1.TypeMeta") {
			t.Errorf("%q: got %v, %v, want %q", text, got, err, want)
		}
	}
	const pool = "apiVersion: kqueen.io/v1alpha1\nkind: NodePool\nspec: {health: {unreadyTimeoutSeconds: 5m}}\n"
	const want = "f, document 1: spec.health.unreadyTimeoutSeconds: has to be a whole number and is a string"
	if _, err := decodeObjects(kinds.NodePool, "f", strings.NewReader(pool)); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// updating is a server of one provisioner, to which it answers that it has changed when it is asked to be another than it was.
type updating struct {
	revision string
	asked    []string
}

// ServeHTTP implements http.Handler.
func (u *updating) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if r.Method != http.MethodGet {
		u.asked = append(u.asked, r.Method+" "+name+" "+r.Header.Get("If-Match"))
	}
	switch {
	case name == "none":
		clitest.Say(w, http.StatusNotFound, clitest.Problem, `{"code":"not-found","detail":"no"}`)
	case r.Method == http.MethodPut && r.Header.Get("If-Match") != fmt.Sprintf("%q", u.revision):
		clitest.Say(w, http.StatusPreconditionFailed, clitest.Problem, `{"code":"changed","detail":"no"}`)
	default:
		clitest.Say(w, http.StatusOK, clitest.JSON, fmt.Sprintf(`{"kind":"Provisioner","name":%q,"organization":"blue","revision":%q,"spec":{"driver":"hosted"}}`, name, u.revision))
	}
}

// TestUpdateOfFiles: objects of a file are changed one after the other; those that were are told, also when one cannot be,
// and a file that cannot be right changes none.
func TestUpdateOfFiles(t *testing.T) {
	document := func(name, more string) string {
		return fmt.Sprintf("---\napiVersion: kqueen.io/v1alpha1\nkind: Provisioner\nmetadata: {name: %s%s}\nspec: {driver: hosted}\n", name, more)
	}
	cases := map[string]struct {
		file  string
		args  []string
		asked []string
		code  int
		words string
		want  string
	}{
		"all":                 {document("a", "") + document("b", ""), nil, []string{`PUT a "7"`, `PUT b "7"`}, exit.OK, "provisioner a updated\nprovisioner b updated\n", ""},
		"as it was read":      {document("a", `, resourceVersion: "7"`), []string{"a"}, []string{`PUT a "7"`}, exit.OK, "provisioner a updated\n", ""},
		"changed since":       {document("a", "") + document("b", `, resourceVersion: "6"`), nil, []string{`PUT a "7"`, `PUT b "6"`}, exit.Failed, "provisioner a updated\n", "provisioner b has changed since it was read; read it again"},
		"one is not there":    {document("a", "") + document("none", ""), nil, []string{`PUT a "7"`}, exit.NotFound, "provisioner a updated\n", `there is no provisioner "none" in organization blue`},
		"no name":             {document("a", "") + document("''", ""), nil, nil, exit.Failed, "", "-, provisioner 2: metadata.name: is missing"},
		"another name":        {document("a", ""), []string{"b"}, nil, exit.Usage, "", `- does not hold the provisioner "b" alone`},
		"another namespace":   {document("a", ", namespace: org-green"), nil, nil, exit.Usage, "", `metadata.namespace: is "org-green", and the one of organization blue is in "org-blue"`},
		"more than the file":  {document("a", ""), []string{"--label", "a=b"}, nil, exit.Usage, "", "--filename cannot be used with other changes; leave those out"},
		"another dry run":     {document("a", ""), []string{"--dry-run=client"}, nil, exit.Usage, "", `--dry-run: "client" has to be none or server`},
		"another format":      {document("a", ""), []string{"-o", "wide"}, nil, exit.Usage, "", `--output: "wide" is not a format; choose one of name, json, yaml`},
		"no object of a kind": {"kind: Provisioner\n", nil, nil, exit.Failed, "", "standard input, document 1: apiVersion: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			there := &updating{revision: "7"}
			t.Setenv(connection.DataDirVariable, clitest.Serve(t, there))
			t.Setenv(connection.OrganizationVariable, "blue")
			var words bytes.Buffer
			e := connection.New(strings.NewReader(c.file), nil, &words)
			cmd, _ := UpdateCommand(e, kinds.Provisioner, "")
			root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
			root.AddCommand(cmd)
			root.SetArgs(append([]string{"update", "-f", "-"}, c.args...))
			err := root.ExecuteContext(t.Context())
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || exit.CodeOf(err) != c.code) {
				t.Errorf("got %v with code %d, want %q with code %d", err, exit.CodeOf(err), c.want, c.code)
			}
			if diff := cmp.Diff(c.asked, there.asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.words, words.String()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}
