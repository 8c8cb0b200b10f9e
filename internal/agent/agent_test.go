package agent

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	apirest "kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/clusters/tunnel"
)

// cluster is an API server with the namespace kube-system, the Secret of the agent, and what echoes.
type cluster struct {
	*httptest.Server

	mu     sync.Mutex
	secret map[string][]byte
	// broken says that the Secret cannot be written.
	broken bool
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/kube-system", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"metadata":{"uid":"instance"}}`)
	})
	mux.HandleFunc("/api/v1/namespaces/kqueen/secrets/kqueen-agent", c.serveSecret)
	mux.HandleFunc("GET /echo", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+" "+r.Header.Get("Impersonate-User")+" "+r.Host)
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *cluster) serveSecret(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method == http.MethodPatch {
		if c.broken {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		var patch secretData
		if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		c.secret = patch.Data
	}
	encoded, err := json.Marshal(secretData{c.secret})
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(encoded)
}

func (c *cluster) api() *rest.Config { return &rest.Config{Host: c.URL, BearerToken: "of-the-agent"} }

func (c *cluster) store() *Secret {
	return &Secret{API: c.api(), Namespace: "kqueen", Name: "kqueen-agent"}
}

// hub is KQueen: it knows identities, and takes one token.
type hub struct {
	*httptest.Server

	mu       sync.Mutex
	known    map[string]bool
	token    string
	calls    []string
	sessions chan *tunnel.Session
	// deaf says that enrolling is noted, and the answer lost.
	deaf bool
}

func newHub(t *testing.T, token string, known ...string) *hub {
	t.Helper()
	h := &hub{known: map[string]bool{}, token: token, sessions: make(chan *tunnel.Session, 8)}
	for _, secret := range known {
		h.known[secret] = true
	}
	h.Server = httptest.NewTLSServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	wish := strings.TrimPrefix(r.URL.Path, apirest.AgentsPath+"/acme/far/")
	proof := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	h.mu.Lock()
	h.calls = append(h.calls, wish)
	good := h.known[proof] && r.Header.Get(apirest.AgentInstanceHeader) == "instance"
	if wish == "enroll" {
		good = proof == h.token
	}
	if good && wish != "connect" {
		var body apirest.AgentIdentity
		good = json.NewDecoder(r.Body).Decode(&body) == nil
		h.known[body.Identity] = true
	}
	deaf := h.deaf && wish == "enroll"
	h.deaf = h.deaf && !deaf
	h.mu.Unlock()
	switch {
	case deaf:
		w.WriteHeader(http.StatusBadGateway)
	case !good:
		w.WriteHeader(http.StatusUnauthorized)
	case wish == "connect":
		if session, err := tunnel.Accept(w, r, slog.New(slog.DiscardHandler)); err == nil {
			h.sessions <- session
			<-session.Done()
		}
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (h *hub) heard() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}

func newAgent(t *testing.T, h *hub, c *cluster, token string) *Agent {
	t.Helper()
	a, err := New(Config{
		Server: h.URL, Authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: h.Certificate().Raw}), Organization: "acme", Cluster: "far",
		Token: func() (string, error) { return token, nil }, API: c.api(), Identity: c.store(), Version: "test",
		Log: slog.New(slog.DiscardHandler), Heartbeat: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestProxy: calls that come from KQueen are made with the credentials of the agent; what KQueen says of a user goes on.
func TestProxy(t *testing.T) {
	c, h := newCluster(t), newHub(t, "one-time")
	a := newAgent(t, h, c, "one-time")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	session := <-h.sessions
	by := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return session.Open() }}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://of.the.cluster/echo", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer of-another")
	req.Header.Set("Impersonate-User", "kqueen:alice")
	answer, err := by.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if want := "Bearer of-the-agent kqueen:alice " + strings.TrimPrefix(c.URL, "http://"); err != nil || string(body) != want {
		t.Errorf("the API server got %q, want %q (%v)", body, want, err)
	}
	if w := ask(a, "/readyz"); w.Code != http.StatusOK {
		t.Errorf("ready while connected: %d", w.Code)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	if ready, live := ask(a, "/readyz"), ask(a, "/livez"); ready.Code != http.StatusServiceUnavailable || live.Code != http.StatusOK {
		t.Errorf("when it is not connected it is ready %d, live %d", ready.Code, live.Code)
	}
}

func ask(a *Agent, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	a.health().ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
	return w
}

// TestConnect: whatever was interrupted before, the agent comes in with what KQueen knows, and with the token where that is nothing.
func TestConnect(t *testing.T) {
	for name, tc := range map[string]struct {
		have   string // in the Secret
		known  []string
		token  string
		want   []string
		failed bool
	}{
		"New":                   {"", nil, "one-time", []string{"enroll", "connect"}, false},
		"Known":                 {`{"current":"a"}`, []string{"a"}, "one-time", []string{"connect"}, false},
		"Next is known":         {`{"current":"a","next":"b"}`, []string{"b"}, "", []string{"connect"}, false},
		"Next is not known":     {`{"current":"a","next":"b"}`, []string{"a"}, "", []string{"connect", "connect"}, false},
		"Damaged":               {`{"curr`, nil, "one-time", []string{"enroll", "connect"}, false},
		"Revoked":               {`{"current":"a"}`, nil, "", []string{"connect"}, true},
		"Revoked, with a token": {`{"current":"a"}`, nil, "one-time", []string{"connect", "enroll", "connect"}, false},
		"A used token":          {"", nil, "used", []string{"enroll"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, h := newCluster(t), newHub(t, "one-time", tc.known...)
			if tc.have != "" {
				c.secret = map[string][]byte{identityKey: []byte(tc.have)}
			}
			session, _, err := newAgent(t, h, c, tc.token).connect(t.Context())
			if diff := cmp.Diff(tc.want, h.heard()); diff != "" || (err != nil) != tc.failed {
				t.Errorf("KQueen heard (-want +got):\n%s%v", diff, err)
			}
			if session != nil {
				session.Close()
			}
		})
	}
}

// TestEnrolTorn: an answer that is lost costs nothing: what the agent has kept is what KQueen knows. What cannot be kept is not sent.
func TestEnrolTorn(t *testing.T) {
	c, h := newCluster(t), newHub(t, "one-time")
	h.deaf = true
	a := newAgent(t, h, c, "one-time")
	if _, _, err := a.connect(t.Context()); err == nil {
		t.Fatal("the lost answer was not noticed")
	}
	h.token = "" // it was used
	session, _, err := a.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	session.Close()
	c.broken, h.calls = true, nil
	c.secret = nil
	h.token = "one-time"
	if _, _, err := a.connect(t.Context()); err == nil || len(h.heard()) > 0 {
		t.Errorf("an identity that is not kept was sent: %v, %v", h.heard(), err)
	}
}

// TestRotate: the next identity is kept before KQueen hears of it, and alone afterwards.
func TestRotate(t *testing.T) {
	c, h := newCluster(t), newHub(t, "", "a")
	a := newAgent(t, h, c, "")
	a.instance = "instance"
	after, err := a.rotate(t.Context(), Identity{Current: "a", Since: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	have, err := c.store().Load(t.Context())
	if err != nil || have.Current != after.Current || have.Next != "" || !h.known[after.Current] || after.Current == "a" {
		t.Errorf("kept is %+v, want %+v (%v)", have, after, err)
	}
	h.known = map[string]bool{}
	if _, err := a.rotate(t.Context(), after); err == nil {
		t.Fatal("refused, and it says nothing")
	}
	if have, err := c.store().Load(t.Context()); err != nil || have.Current != after.Current || have.Next == "" {
		t.Errorf("after a refusal %+v is kept (%v)", have, err)
	}
}

// TestPause: agents that KQueen refuses or sends away come later, and no two of them at once.
func TestPause(t *testing.T) {
	for name, tc := range map[string]struct {
		err           error
		least, atMost time.Duration
	}{
		"Lost":      {errors.New("lost"), 0, time.Second},
		"Revoked":   {&tunnel.RefusedError{Status: 401}, refusedPause, refusedPause + time.Second},
		"Elsewhere": {&tunnel.RefusedError{Status: 409}, refusedPause, refusedPause + time.Second},
		"Busy":      {&tunnel.RefusedError{Status: 503, RetryAfter: 5 * time.Second}, 5 * time.Second, 6 * time.Second},
		"Never":     {&tunnel.RefusedError{Status: 503, RetryAfter: 1 << 62}, 2 * longestPause, 2*longestPause + time.Second},
	} {
		for range 100 {
			if got := pause(tc.err, time.Second); got < tc.least || got > tc.atMost {
				t.Fatalf("%s: %v, want %v to %v", name, got, tc.least, tc.atMost)
			}
		}
	}
}

// TestFlags: wrong flags are said, and help is no error.
func TestFlags(t *testing.T) {
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"--help":       {0, "Usage: kqueen-agent"},
		"":             {2, "want --server, --organization and --cluster"},
		"--server x y": {2, "no arguments"},
		"--nonsense":   {2, "flag provided but not defined"},
		"--server http://a --organization o --cluster c --kubeconfig none": {1, "reach the API server of the cluster"},
	} {
		var said strings.Builder
		if code := Main(t.Context(), append([]string{"kqueen-agent"}, strings.Fields(line)...), &said); code != want.code || !strings.Contains(said.String(), want.says) {
			t.Errorf("%s: %d, %s", line, code, said.String())
		}
	}
}
