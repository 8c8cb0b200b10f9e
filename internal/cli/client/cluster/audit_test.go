package cluster

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
)

// clusterEvents are lines as an API server writes them.
const clusterEvents = `{"kind":"Event","requestURI":"/api/v1/namespaces/default/pods/web/exec?command=sh","verb":"create","user":{"username":"kqueen:alice"},"objectRef":{"resource":"pods","namespace":"default","name":"web","subresource":"exec"},"responseStatus":{"code":101},"stageTimestamp":"2026-01-02T03:04:05.250000Z"}
{"kind":"Event","requestURI":"/apis/apps/v1/deployments","verb":"list","user":{"username":"\u001b[31mmallory"},"objectRef":{"resource":"deployments","apiGroup":"apps"},"responseStatus":{"code":403},"stageTimestamp":"2026-01-02T03:04:06.000000Z"}
{"kind":"Event","requestURI":"/logs/","verb":"get","user":{"username":"kqueen:alice"},"responseStatus":{"code":404},"stageTimestamp":"2026-01-02T03:04:07.000000Z"}
`

func runAudit(t *testing.T, answer http.Handler, args ...string) (string, error) {
	t.Helper()
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, answer))
	t.Setenv(connection.OrganizationVariable, "blue")
	var out, words bytes.Buffer
	e := connection.New(nil, &out, &words)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(newAuditCommand(e))
	root.SetArgs(append([]string{"audit"}, args...))
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

// TestAudit: events are shown in words that a terminal can show, or as they are; a log that was cut off is an error.
func TestAudit(t *testing.T) {
	asked := ""
	whole := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.Path
		clitest.Say(w, http.StatusOK, "application/jsonl", clusterEvents+`{"seal":{"events":3,"leftOut":2}}`+"\n")
	})
	out, err := runAudit(t, whole, "demo", "--since", "24h")
	if err != nil || asked != "/api/v1/organizations/blue/clusters/demo/audit" {
		t.Fatalf("asked %s: %v", asked, err)
	}
	lines := strings.Split(out, "\n")
	want := []string{
		"2026-01-02T03:04:05Z  101  kqueen:alice  create pods/exec default/web",
		"2026-01-02T03:04:07Z  404  kqueen:alice  get /logs/",
		"(2 lines could not be read: they are torn, or are being written)", "",
	}
	if diff := cmp.Diff(want, append(lines[:1:1], lines[2:]...)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if strings.Contains(out, "\x1b") || !strings.HasSuffix(lines[1], "mallory  list deployments.apps") {
		t.Errorf("said of mallory %q", lines[1])
	}
	if out, err = runAudit(t, whole, "demo", "-o", "json"); err != nil || !strings.HasPrefix(out, clusterEvents) {
		t.Errorf("%v: %s", err, out)
	}
	if _, err = runAudit(t, clitest.Answer(http.StatusOK, "application/jsonl", clusterEvents), "demo"); err == nil || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("of a log without its end: %v", err)
	}
	if _, err = runAudit(t, whole, "demo", "-o", "yaml"); err == nil {
		t.Error("an unknown format is taken")
	}
}
