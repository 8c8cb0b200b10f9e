package nodes

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
)

// TestDescribeOfAnotherVersion: a server of another version leaves out what it does not know, and says what this one does
// not. What is shown is what is known, with the defaults that hold.
func TestDescribeOfAnotherVersion(t *testing.T) {
	answers := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		object := `{"kind":"NodePool","name":"demo","organization":"blue","spec":{"clusterName":"demo","replicas":2,"later":{"a":1}},"status":{"later":true}}`
		switch {
		case strings.HasSuffix(r.URL.Path, "/machines"), strings.HasSuffix(r.URL.Path, "/events"):
			object = `{"items":[]}`
		case strings.Contains(r.URL.Path, "/machines/"):
			object = `{"kind":"Machine","name":"demo-a","organization":"blue","spec":{"clusterName":"demo"},"status":{"unschedulable":true}}`
		}
		clitest.Say(w, http.StatusOK, clitest.JSON, object)
	})
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, answers))
	t.Setenv(connection.OrganizationVariable, "blue")
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"nodepool": {[]string{"nodepool", "describe", "demo"}, []string{"Nodes:", "2 wanted, 0 there", "Drain timeout:", "When unready for:"}},
		"node":     {[]string{"node", "describe", "demo-a"}, []string{"Cluster:", "Drain timeout:", "10m", "Cordoned:", "kqueen node uncordon demo-a", "none yet: KQueen has not looked at it"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out, words bytes.Buffer
			e := connection.New(nil, &out, &words)
			root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
			e.Flags.Register(root)
			root.AddCommand(NewNodePoolCommand(e), NewNodeCommand(e))
			root.SetArgs(c.args)
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("there is no %q in\n%s", want, out.String())
				}
			}
		})
	}
}
