package access

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/cli/connection"
)

// TestCallback: the address to which a browser brings a code takes one answer, of the browser that knows the state; a page
// that guesses the port, or has another name for it, gets nothing and ends nothing.
func TestCallback(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received, stop := await(listener, "state")
	base := "http://" + listener.Addr().String()
	ask := func(method, path, host string) *http.Response {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if host != "" {
			r.Host = host
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		return answer
	}
	for _, c := range []struct {
		method, path, host string
		want               int
	}{
		{"GET", "/callback?code=c&state=guess", "", http.StatusBadRequest},
		{"GET", "/callback?code=c", "", http.StatusBadRequest},
		{"GET", "/callback?code=c&state=state", "evil.example", http.StatusBadRequest},
		{"GET", "/callback?code=c&state=state", "localhost", http.StatusBadRequest},
		{"POST", "/callback?code=c&state=state", "", http.StatusMethodNotAllowed},
		{"GET", "/?code=c&state=state", "", http.StatusNotFound},
	} {
		if got := ask(c.method, c.path, c.host).StatusCode; got != c.want {
			t.Errorf("%s %s as %q: got %d, want %d", c.method, c.path, c.host, got, c.want)
		}
	}
	select {
	case query := <-received:
		t.Fatalf("received %v", query)
	default:
	}
	good := ask("GET", "/callback?code=good&state=state", "")
	if query := <-received; good.StatusCode != http.StatusOK || query.Get("code") != "good" {
		t.Errorf("got %d and %v", good.StatusCode, query)
	}
	if policy := good.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || good.Header.Get("Referrer-Policy") != "no-referrer" {
		t.Errorf("the page has the policy %q, and may pass on the code in its address", policy)
	}
	stop(t.Context())
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("it still listens")
	}
}

// TestCallbackOnce: the first answer counts.
func TestCallbackOnce(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	received, stop := await(listener, "state")
	defer stop(t.Context())
	for n, want := range []int{http.StatusOK, http.StatusGone} {
		answer, err := http.Get("http://" + listener.Addr().String() + "/callback?state=state&code=" + string(rune('a'+n)))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("answer %d: got %d, want %d", n, answer.StatusCode, want)
		}
	}
	if query := <-received; query.Get("code") != "a" {
		t.Errorf("got %v, want the first one", query)
	}
}

// TestQuestion: the browser is given the challenge and not the secret that answers it (RFC 7636, 4.2).
func TestQuestion(t *testing.T) {
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	l := &login{env: connection.New(nil, nil, nil), provider: "corp"}
	q := l.question("http://127.0.0.1:5/callback", "state", verifier)
	if got := q.Get("code_challenge"); got != "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" {
		t.Errorf("got the challenge %q", got)
	}
	if q.Get("code_challenge_method") != "S256" || q.Get("provider") != "corp" || q.Get("state") != "state" || q.Get("redirect_uri") != "http://127.0.0.1:5/callback" {
		t.Errorf("got %v", q)
	}
	if strings.Contains(q.Encode(), verifier) {
		t.Error("the secret is in the address")
	}
	l.provider = ""
	if q := l.question("", "", ""); q.Has("provider") {
		t.Errorf("got a provider that was not named: %v", q)
	}
}

// TestNoBrowser: where none can be started, that is an error and not a page that nothing opens.
func TestNoBrowser(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := openBrowser(t.Context(), "https://k.example/authorize"); err == nil {
		t.Error("a browser was started")
	}
}
