package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// keeper is a server that keeps what is applied, by path, and notes each apply. Objects called "taken" are another manager's,
// and those called "bad" are refused.
type keeper struct {
	kept  map[string]rest.Object
	notes []string
}

// ServeHTTP implements http.Handler.
func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := strings.TrimPrefix(r.URL.Path, rest.Prefix+"/")
	name := filepath.Base(at)
	have, known := k.kept[at]
	if r.Method == http.MethodGet {
		if !known {
			clitest.Say(w, http.StatusNotFound, clitest.Problem, `{"status":404,"code":"not-found","detail":"not found, or access denied"}`)
			return
		}
		k.say(w, have)
		return
	}
	var in rest.Input
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Method != http.MethodPatch || r.Header.Get("Content-Type") != rest.MediaApply {
		clitest.Say(w, http.StatusBadRequest, clitest.Problem, `{"status":400,"code":"invalid"}`)
		return
	}
	query := r.URL.Query()
	switch {
	case name == "bad":
		clitest.Say(w, http.StatusUnprocessableEntity, clitest.Problem, `{"status":422,"code":"invalid","errors":[{"pointer":"/spec/version","detail":"is too old"}]}`)
		return
	case name == "taken" && query.Get("force") == "":
		clitest.Say(w, http.StatusConflict, clitest.Problem, `{"status":409,"code":"field-conflict","detail":"other field managers have set these fields to other values","errors":[{"pointer":"/labels/a","detail":"conflict with \"one\""}]}`)
		return
	}
	kind := map[string]string{"clusters": "Cluster", "nodepools": "NodePool"}[filepath.Base(filepath.Dir(at))]
	next := rest.Object{Kind: kind, Name: name, Organization: "blue", UID: "u-" + name, Labels: in.Labels, Spec: in.Spec, Generation: have.Generation, Revision: have.Revision + "1"}
	if string(next.Spec) != string(have.Spec) {
		next.Generation++
	}
	if query.Get("dryRun") == "" {
		k.notes = append(k.notes, fmt.Sprintf("%s by %s: %s", at, query.Get("fieldManager"), in.Spec))
		k.kept[at] = next
	}
	k.say(w, next)
}

func (k *keeper) say(w http.ResponseWriter, o rest.Object) {
	data, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	clitest.Say(w, http.StatusOK, clitest.JSON, string(data))
}

// TestApply: objects are created, merged and compared, and nothing is applied before all are checked.
func TestApply(t *testing.T) {
	k := &keeper{kept: map[string]rest.Object{}}
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, k))
	t.Setenv(connection.OrganizationVariable, "blue")
	give := func(text string, args ...string) (data, words string, err error) {
		path := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, told bytes.Buffer
		e := connection.New(nil, &out, &told)
		root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(ApplyCommand(e), DiffCommand(e))
		root.SetArgs(append(args, "-f", path))
		err = root.ExecuteContext(t.Context())
		return out.String(), told.String(), err
	}
	object := func(kind, name, rest string) string {
		return fmt.Sprintf("---\napiVersion: kqueen.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\n%s\n", kind, name, rest)
	}
	pool, cluster := object("NodePool", "workers", "spec: {clusterName: demo}"), object("Cluster", "demo", "spec: {version: v1.36.3}")
	for _, c := range []struct {
		what, text string
		args       []string
		data       string
		words      string
		code       int
		problem    string
	}{
		{what: "a dry run", text: pool + cluster, args: []string{"apply", "--dry-run"}, words: "cluster demo would be created (dry run)\nnodepool workers would be created (dry run)\n"},
		{what: "a dry run here", text: pool, args: []string{"apply", "--dry-run=client"}, words: "nodepool workers would be applied (dry run)\n"},
		{what: "a mistake in the last", text: cluster + object("NodePool", "bad", ""), args: []string{"apply"}, code: exit.Failed, problem: "apply nodepool bad: not valid\n  spec.version: is too old"},
		{what: "two that are new", text: pool + cluster, args: []string{"apply", "-o", "name"}, data: "cluster.kqueen.io/demo\nnodepool.kqueen.io/workers\n", words: "cluster demo created\nnodepool workers created\n"},
		{what: "the same again", text: pool + cluster, args: []string{"apply"}, words: "cluster demo unchanged\nnodepool workers unchanged\n"},
		{what: "no difference", text: pool + cluster, args: []string{"diff"}},
		{what: "a difference", text: object("Cluster", "demo", "spec: {version: v1.36.4}"), args: []string{"diff"}, code: exit.Failed, problem: "there are differences", data: `diff live/cluster/demo applied/cluster/demo
--- live/cluster/demo
+++ applied/cluster/demo
@@ -6,4 +6,4 @@
 spec:
   network: {}
   provisionerRef: {}
-  version: v1.36.3
+  version: v1.36.4
`},
		{what: "a change", text: object("Cluster", "demo", "spec: {version: v1.36.4}"), args: []string{"apply", "--field-manager", "me"}, words: "cluster demo configured\n"},
		{what: "another manager's", text: object("Cluster", "taken", ""), args: []string{"apply"}, code: exit.Failed, problem: "apply cluster taken: other field managers have set these fields to other values\n  metadata.labels.a: conflict with \"one\"\nremove them from the file, or take them over with: --force-conflicts"},
		{what: "taken over", text: object("Cluster", "taken", ""), args: []string{"apply", "--force-conflicts"}, words: "cluster taken created\n"},
		{what: "a failure of diff", text: object("Cluster", "bad", ""), args: []string{"diff"}, code: exit.Usage, problem: "apply cluster bad: not valid\n  spec.version: is too old"},
		{what: "to wait for nothing", text: cluster, args: []string{"apply", "--dry-run", "--wait"}, code: exit.Usage, problem: "--wait cannot be used with --dry-run=server, which creates nothing to wait for\nsee: kqueen apply --help"},
	} {
		data, words, err := give(c.text, c.args...)
		problem, code := "", 0
		if err != nil {
			problem, code = err.Error(), exit.CodeOf(err)
		}
		if diff := cmp.Diff([]any{c.data, c.words, c.code, c.problem}, []any{data, words, code, problem}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
	want := []string{
		`organizations/blue/clusters/demo by kqueen: {"version":"v1.36.3"}`, `organizations/blue/nodepools/workers by kqueen: {"clusterName":"demo"}`,
		`organizations/blue/clusters/demo by kqueen: {"version":"v1.36.3"}`, `organizations/blue/nodepools/workers by kqueen: {"clusterName":"demo"}`,
		`organizations/blue/clusters/demo by me: {"version":"v1.36.4"}`, `organizations/blue/clusters/taken by kqueen: `,
	}
	if diff := cmp.Diff(want, k.notes); diff != "" {
		t.Errorf("applied (-want +got):\n%s", diff)
	}
}
