package access

import (
	"bytes"
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/clitest"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// installation is one elsewhere, and the user who calls it.
type installation struct {
	t *testing.T
	// url is where it is, and ca the file with its authority. contexts is the user's file, and cache the folder with
	// credentials.
	url, ca, contexts, cache string
}

// elsewhere serves an installation by TLS, as contexts want it.
func elsewhere(t *testing.T, answers http.Handler) *installation {
	t.Helper()
	served := httptest.NewTLSServer(answers)
	t.Cleanup(served.Close)
	dir := t.TempDir()
	i := &installation{t, served.URL, filepath.Join(dir, "ca.pem"), filepath.Join(dir, "config.yaml"), filepath.Join(dir, "cache")}
	if err := os.WriteFile(i.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: served.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{connection.ServerVariable, connection.TokenVariable, connection.CaVariable, connection.DataDirVariable, connection.OrganizationVariable} {
		t.Setenv(name, "")
	}
	t.Setenv(connection.ConfigVariable, i.contexts)
	t.Setenv("XDG_CACHE_HOME", i.cache)
	return i
}

// signedIn makes a context with a token, the current one, beside which there is another.
func (i *installation) signedIn(token string) {
	i.t.Helper()
	authority, err := os.ReadFile(i.ca)
	if err != nil {
		i.t.Fatal(err)
	}
	err = connection.ChangeContexts(i.t.Context(), func(known *connection.Contexts) error {
		known.Put(connection.Context{Name: "mine", Server: i.url, Authority: string(authority), Token: token, User: "alice"})
		known.Put(connection.Context{Name: "other", Server: "https://other.example", Token: "o"})
		known.Current = "mine"
		return nil
	})
	if err != nil {
		i.t.Fatal(err)
	}
}

// token is the one that is kept for a context.
func (i *installation) token(name string) string {
	i.t.Helper()
	known, err := connection.ReadContexts(i.contexts)
	if err != nil {
		i.t.Fatal(err)
	}
	if found := known.Find(name); found != nil {
		return found.Token
	}
	return ""
}

// run gives a command, with a line on standard input, and returns what it said.
func (i *installation) run(typed string, args ...string) (string, error) {
	var words bytes.Buffer
	e := connection.New(strings.NewReader(typed), &words, &words)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(NewLoginCommand(e, func(context.Context) (string, string) { return "", "" }), NewLogoutCommand(e))
	root.SetArgs(args)
	err := root.ExecuteContext(i.t.Context())
	return words.String(), err
}

// TestLoginThatFails: a sign-in that does not come to its end, or that another server answers, leaves the contexts as they
// are, with the session that the user had.
func TestLoginThatFails(t *testing.T) {
	session := clitest.Answer(http.StatusOK, clitest.JSON, `{"token":"new"}`)
	no := func(status int, code string) http.Handler {
		return clitest.Answer(status, clitest.Problem, `{"code":"`+code+`","detail":"no"}`)
	}
	cases := map[string]struct {
		session, me http.Handler
		code        int
		want        string
	}{
		"wrong password":     {no(401, "unauthenticated"), nil, exit.Denied, "sign in: no"},
		"too many tries":     {no(429, "too-many-requests"), nil, exit.Failed, "sign in: no"},
		"no session":         {clitest.Answer(200, clitest.JSON, `{}`), nil, exit.Failed, "the server gave no session; is its URL right?"},
		"nothing":            {clitest.Answer(200, clitest.JSON, ``), nil, exit.Failed, "is its URL right?"},
		"a page":             {clitest.Answer(200, "text/html", `<html>`), nil, exit.Failed, "is its URL right?"},
		"another page":       {clitest.Answer(404, "text/html", `<html>`), nil, exit.Failed, "the server answers 404 Not Found"},
		"a session for what": {session, no(500, "internal"), exit.Failed, "ask who you are: no"},
		"of which user":      {session, clitest.Answer(200, clitest.JSON, `{}`), exit.Failed, "ask who you are: the server does not say"},
		"not for long":       {session, no(401, "unauthenticated"), exit.Denied, "ask who you are: no"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			i := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/me") {
					c.me.ServeHTTP(w, r)
					return
				}
				c.session.ServeHTTP(w, r)
			}))
			i.signedIn("old")
			said, err := i.run("password\n", "login", "--context", "mine", "--username", "alice", "--password-stdin")
			if err == nil || exit.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v with code %d, want %q with code %d", err, exit.CodeOf(err), c.want, c.code)
			}
			if i.token("mine") != "old" || i.token("other") != "o" || strings.Contains(said, "signed in") {
				t.Errorf("the session is now %q; said %q", i.token("mine"), said)
			}
		})
	}
}

// TestLogin keeps the session, and the organization of a user who has one.
func TestLogin(t *testing.T) {
	i := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/me") && r.Header.Get("Authorization") == "Bearer new" {
			clitest.Say(w, http.StatusOK, clitest.JSON, `{"name":"alice","roles":{"blue":"viewer"}}`)
			return
		}
		clitest.Say(w, http.StatusOK, clitest.JSON, `{"token":"new"}`)
	}))
	if _, err := i.run("password\n", "login", i.url, "--context", "mine", "--username", "alice", "--password-stdin", "--ca-file", i.ca); err != nil {
		t.Fatal(err)
	}
	known, err := connection.ReadContexts(i.contexts)
	if err != nil {
		t.Fatal(err)
	}
	if k := known.Find("mine"); known.Current != "mine" || k == nil || k.Token != "new" || k.User != "alice" || k.Organization != "blue" || k.Server != i.url || k.Authority == "" {
		t.Errorf("got %+v", known)
	}
}

// TestLogout: whatever the server says, the session and what was got by it are forgotten here; the user is told when the
// server goes on to let others in with it.
func TestLogout(t *testing.T) {
	me := func(kind string) http.Handler {
		return clitest.Answer(200, clitest.JSON, `{"name":"alice","credential":{"kind":"`+kind+`"}}`)
	}
	gone, broken := clitest.Answer(204, clitest.JSON, ""), clitest.Answer(500, clitest.Problem, `{"code":"internal","detail":"broken"}`)
	cases := map[string]struct {
		me, signOut http.Handler
		asked       int
		want        string // of the error
	}{
		"session":            {me("session"), gone, 1, ""},
		"an API token stays": {me("token"), gone, 0, ""},
		"ended already":      {clitest.Answer(401, clitest.Problem, `{"code":"unauthenticated"}`), gone, 0, ""},
		"ended meanwhile":    {me("session"), clitest.Answer(401, clitest.Problem, `{"code":"unauthenticated"}`), 1, ""},
		"the server fails":   {broken, gone, 0, "the session is forgotten here, and goes on at https://127.0.0.1:"},
		"it fails to end it": {me("session"), broken, 1, "until it expires: broken"},
		"another server":     {clitest.Answer(200, "text/html", "<html>"), gone, 0, "is its URL right?"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			asked := 0
			i := elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/me") {
					c.me.ServeHTTP(w, r)
					return
				}
				asked++
				c.signOut.ServeHTTP(w, r)
			}))
			i.signedIn("old")
			credential := filepath.Join(i.cache, "kqueen", "credentials", "mine", "x.json")
			if err := os.MkdirAll(filepath.Dir(credential), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(credential, []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			said, err := i.run("", "logout")
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || exit.CodeOf(err) != exit.Failed) {
				t.Errorf("got %v with code %d, want %q", err, exit.CodeOf(err), c.want)
			}
			if asked != c.asked || strings.Contains(said, "signed out") != (c.want == "") {
				t.Errorf("the server was asked %d times, want %d; said %q", asked, c.asked, said)
			}
			if i.token("mine") != "" || i.token("other") != "o" {
				t.Errorf("the tokens are %q and %q", i.token("mine"), i.token("other"))
			}
			if _, err := os.Stat(credential); !os.IsNotExist(err) {
				t.Errorf("a credential of the session is kept: %v", err)
			}
		})
	}
}

// TestLogoutBesideLogin: who signs in again while a session ends keeps the new one.
func TestLogoutBesideLogin(t *testing.T) {
	var i *installation
	i = elsewhere(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/me") {
			clitest.Say(w, http.StatusOK, clitest.JSON, `{"credential":{"kind":"session"}}`)
			return
		}
		i.signedIn("new")
		w.WriteHeader(http.StatusNoContent)
	}))
	i.signedIn("old")
	if _, err := i.run("", "logout"); err != nil {
		t.Fatal(err)
	}
	if got := i.token("mine"); got != "new" {
		t.Errorf("the session is %q, want the new one", got)
	}
}
