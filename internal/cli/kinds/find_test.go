package kinds

import (
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// TestFind: what the caller is told of an object and of its organization, by what the server answers. A server that is not
// KQueen says nothing of either.
func TestFind(t *testing.T) {
	no := func(status int, code string) http.Handler {
		return clitest.Answer(status, clitest.Problem, `{"code":"`+code+`","detail":"no"}`)
	}
	const good = 0
	cases := map[string]struct {
		answer http.Handler
		// object and organization are what is said of each; empty when it is there, or may be.
		object, organization         string
		objectCode, organizationCode int
	}{
		"another kind": {
			clitest.Answer(200, clitest.JSON, `{"kind":"Organization","name":"blue"}`),
			`the server answers with a "Organization" in place of a Cluster`, "", exit.Failed, good,
		},
		"not there": {
			no(404, "not-found"),
			`there is no cluster "demo" in organization blue; see: kqueen cluster list --org blue`,
			`organization "blue" does not exist; see which there are with: kqueen organization list`, exit.NotFound, exit.NotFound,
		},
		"a page": {
			clitest.Answer(404, "text/html", "<html>"),
			"get cluster demo: the server answers 404 Not Found", "the server answers 404 Not Found", exit.Failed, exit.Failed,
		},
		"denied": {no(403, "forbidden"), "get cluster demo: no", "", exit.Denied, good},
		"broken": {no(500, "internal"), "get cluster demo: no", "no", exit.Failed, exit.Failed},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv(connection.DataDirVariable, clitest.Serve(t, c.answer))
			e := connection.New(nil, nil, nil)
			e.Flags.Organization = "blue"
			connected, err := e.Connect()
			if err != nil {
				t.Fatal(err)
			}
			_, err = FindAs[*v1alpha1.Cluster](t.Context(), e, connected, Cluster, "demo")
			wantError(t, c.objectCode, c.object, err)
			wantError(t, c.organizationCode, c.organization, CheckOrganization(t.Context(), e, connected))
		})
	}
}

func wantError(t *testing.T, code int, want string, err error) {
	t.Helper()
	if err == nil && want == "" {
		return
	}
	if err == nil || want == "" || !strings.HasSuffix(err.Error(), want) || exit.CodeOf(err) != code {
		t.Errorf("got %v with code %d, want %q with code %d", err, exit.CodeOf(err), want, code)
	}
}
