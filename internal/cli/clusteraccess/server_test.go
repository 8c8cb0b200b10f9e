package clusteraccess

import (
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// entering returns what a command has that enters a cluster of organization blue, with a server that answers so and a cache
// of its own.
func entering(t *testing.T, answers http.Handler) (*connection.Env, *connection.API, string) {
	t.Helper()
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv(connection.DataDirVariable, clitest.Serve(t, answers))
	t.Setenv(connection.OrganizationVariable, "blue")
	e := connection.New(nil, nil, nil)
	d, err := e.API()
	if err != nil {
		t.Fatal(err)
	}
	return e, d, cache
}

// kept are the credentials in a cache.
func kept(t *testing.T, cache string) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(cache, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".json") {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestCredentialIsKept: a credential is asked for once as long as it is good, by this machine's clock with what that may be
// wrong; a file that is torn or of another time is as none.
func TestCredentialIsKept(t *testing.T) {
	asked := 0
	expires := time.Now().Add(time.Hour)
	e, d, cache := entering(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		clitest.Say(w, http.StatusCreated, clitest.JSON, fmt.Sprintf(`{"token":"t%d","expiresAt":%q,"access":"view"}`, asked, expires.UTC().Format(time.RFC3339)))
	}))
	get := func(want, cluster string, w Wanted) {
		t.Helper()
		got, err := Credential(t.Context(), e, d, cluster, &w)
		if err != nil || got.Token != want {
			t.Errorf("got %+v, %v, want the token %s", got, err, want)
		}
	}
	get("t1", "demo", Wanted{})
	get("t1", "demo", Wanted{})
	get("t2", "demo", Wanted{access: v1alpha1.AccessView})
	get("t3", "other", Wanted{})
	for _, path := range kept(t, cache) {
		if err := os.WriteFile(path, []byte(`{"token":"t1","exp`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	get("t4", "demo", Wanted{})
	// The clock of this machine is ahead of the server's: the credential is used all the same, and not again.
	expires = time.Now().Add(-time.Minute)
	get("t5", "late", Wanted{})
	get("t6", "late", Wanted{})
}

// TestCredentialRefused: what is refused, or is no credential, leaves nothing that a later command would use.
func TestCredentialRefused(t *testing.T) {
	cases := map[string]struct {
		answer http.Handler
		code   int
		want   string
	}{
		"refused": {clitest.Answer(http.StatusForbidden, clitest.Problem, `{"code":"forbidden","detail":"no"}`), exit.Denied, "get a credential for cluster demo of organization blue: no"},
		"none":    {clitest.Answer(http.StatusOK, clitest.JSON, `{}`), exit.Failed, "get a credential for cluster demo of organization blue: the server returned none"},
		"a page":  {clitest.Answer(http.StatusOK, "text/html", `<html>`), exit.Failed, "is its URL right?"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e, d, cache := entering(t, c.answer)
			_, err := Credential(t.Context(), e, d, "demo", &Wanted{})
			if err == nil || exit.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v with code %d, want %q with code %d", err, exit.CodeOf(err), c.want, c.code)
			}
			if found := kept(t, cache); len(found) > 0 {
				t.Errorf("%q are kept", found)
			}
		})
	}
}

// TestEnter: of what the server answers a command takes where the cluster is, and nothing that would start a program or
// read a file here.
func TestEnter(t *testing.T) {
	const there, user = `{"name":"c","cluster":{"server":"https://demo.example:6443"}}`, `{"name":"u","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"kqueen"}}}`
	config := func(current, cluster string) string {
		return fmt.Sprintf(`{"current-context":%q,"clusters":[%s],"users":[%s],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}]}`, current, cluster, user)
	}
	cases := map[string]struct {
		kubeconfig string
		entered    string // what is wrong already when it is got
		connected  string // what is wrong when it is used
	}{
		"whole":              {kubeconfig: config("x", there)},
		"no kubeconfig":      {kubeconfig: "{", entered: "read the kubeconfig of cluster demo: "},
		"no current context": {kubeconfig: config("", there), entered: "it does not say where the cluster is"},
		"no cluster":         {kubeconfig: config("x", ""), entered: "it does not say where the cluster is"},
		"reads a file":       {kubeconfig: config("x", `{"name":"c","cluster":{"server":"https://demo.example:6443","certificate-authority":"/etc/ca.pem"}}`), connected: `it reads the file "/etc/ca.pem"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e, _, _ := entering(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/kubeconfig") {
					clitest.Say(w, http.StatusOK, clitest.JSON, fmt.Sprintf(`{"kubeconfig":%q,"access":"view"}`, c.kubeconfig))
					return
				}
				clitest.Say(w, http.StatusOK, clitest.JSON, `{"token":"t","expiresAt":"2099-01-01T00:00:00Z"}`)
			}))
			data, err := Enter(t.Context(), e, "demo")
			wantError(t, c.entered, err)
			if err != nil {
				return
			}
			config, err := clientcmd.Load(data)
			if err != nil || config.AuthInfos["u"].Token != "t" || config.AuthInfos["u"].Exec != nil {
				t.Errorf("got %s, %v", data, err)
			}
			if c.connected != "" {
				_, err = Connect(data)
				wantError(t, c.connected, err)
			}
		})
	}
}

func wantError(t *testing.T, want string, err error) {
	t.Helper()
	if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestConnectRefuses: a kubeconfig from elsewhere that starts a program, whatever user of it that is.
func TestConnectRefuses(t *testing.T) {
	const text = `{"current-context":"x","clusters":[{"name":"c","cluster":{"server":"https://demo.example:6443"}}],"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{"token":"t"}},%s]}`
	for other, want := range map[string]string{
		`{"name":"v","user":{"exec":{"apiVersion":"client.authentication.k8s.io/v1","command":"rm","interactiveMode":"Never"}}}`: "it starts a program to log in",
		`{"name":"v","user":{"auth-provider":{"name":"oidc"}}}`:                                                                  "it starts a program to log in",
		`{"name":"v","user":{"tokenFile":"/etc/shadow"}}`:                                                                        `it reads the file "/etc/shadow"`,
		`{"name":"v","user":{"client-key":"/root/.ssh/id_rsa"}}`:                                                                 `it reads the file "/root/.ssh/id_rsa"`,
		`{"name":"v","user":{"client-certificate":"/etc/x.crt"}}`:                                                                `it reads the file "/etc/x.crt"`,
	} {
		_, err := Connect(fmt.Appendf(nil, text, other))
		wantError(t, want, err)
	}
}

// TestExplainKubeconfig: the user is told what a cluster without a kubeconfig waits for, and of one that is not there that
// it is not.
func TestExplainKubeconfig(t *testing.T) {
	conflict := &rest.Problem{Status: http.StatusConflict, Code: rest.CodeConflict, Detail: "not yet"}
	condition := func(name, status string) string {
		return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"R","message":"waits\u001b[2J","lastTransitionTime":null}`, name, status)
	}
	accepted, provisioned, ready := v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady
	cluster := func(generation int, conditions ...string) string {
		return fmt.Sprintf(`{"kind":"Cluster","name":"demo","organization":"blue","generation":%d,"spec":{"version":"v1.36.3"},"status":{"observedGeneration":1,"conditions":[%s]}}`, generation, strings.Join(conditions, ","))
	}
	const missing = `{"code":"not-found","detail":"not found"}`
	cases := map[string]struct {
		refused error
		status  int
		answer  string
		want    string
	}{
		"nothing is known": {conflict, 200, cluster(1), "cluster demo has no kubeconfig yet: its condition Accepted is not known yet\nwait for it with: kqueen cluster wait demo"},
		"of an older spec": {conflict, 200, cluster(2, condition(accepted, "True")), "its condition Accepted is not known yet"},
		"one is false":     {conflict, 200, cluster(1, condition(accepted, "True"), condition(provisioned, "False")), "its condition Provisioned is False: waits[2J\n"},
		"all are true":     {conflict, 200, cluster(1, condition(accepted, "True"), condition(provisioned, "True"), condition(ready, "True")), "its Secret "},
		"there is none":    {conflict, 404, missing, `there is no cluster "demo" in organization blue; see: kqueen cluster list`},
		"refused":          {&rest.Problem{Status: 403, Detail: "no"}, 500, "", "get the kubeconfig of cluster demo of organization blue: no"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			media := clitest.JSON
			if c.status >= http.StatusBadRequest {
				media = clitest.Problem
			}
			e, _, _ := entering(t, clitest.Answer(c.status, media, c.answer))
			wantError(t, c.want, ExplainKubeconfig(t.Context(), e, "demo", c.refused))
		})
	}
}

// TestCredentialFiles: what was got by one session, at one server, for one cluster is not used for another, and goes with
// its context.
func TestCredentialFiles(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	one := connection.Context{Name: "mine", Server: "https://a.example", Token: "t"}
	path := func(k connection.Context, organization, cluster string) string {
		t.Helper()
		path, err := credentialFile(k, organization, cluster, &Wanted{})
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	mine := path(one, "blue", "demo")
	for name, other := range map[string]string{
		"another session":      path(connection.Context{Name: "mine", Server: "https://a.example", Token: "u"}, "blue", "demo"),
		"another server":       path(connection.Context{Name: "mine", Server: "https://b.example", Token: "t"}, "blue", "demo"),
		"another organization": path(one, "green", "demo"),
		"another cluster":      path(one, "blue", "test"),
		"the words run over":   path(one, "blued", "emo"),
	} {
		if other == mine {
			t.Errorf("%s has the same file", name)
		}
	}
	for _, file := range []string{mine, path(connection.Context{Server: "https://a.example", Token: "t"}, "blue", "demo")} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Who signs out of a context leaves nothing of it, and of others all.
	if err := ForgetCredentials("mine"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Dir(mine)); !os.IsNotExist(err) {
		t.Errorf("the credentials of the context are still there: %v", err)
	}
	if found := kept(t, os.Getenv("XDG_CACHE_HOME")); len(found) != 1 {
		t.Errorf("got %q, want the one of the environment", found)
	}
	if err := ForgetCredentials("never"); err != nil {
		t.Error(err)
	}
}
