package clusterapi

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/issuer"
)

// clusters is what the cache has: "shop" of "blue" was adopted, and "own" takes credentials of KQueen.
type clusters struct{ client.Reader }

func (clusters) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	c := into.(*v1alpha1.Cluster)
	switch name {
	case client.ObjectKey{Namespace: "org-blue", Name: "shop"}:
		c.UID = "u1"
	case client.ObjectKey{Namespace: "org-blue", Name: "own"}:
		c.UID = "u2"
	default:
		return apierrors.NewNotFound(schema.GroupResource{}, name.Name)
	}
	c.Namespace, c.Name = name.Namespace, name.Name
	return nil
}

// verify knows the credentials "good-CLUSTER'S-UID" and "ended-CLUSTER'S-UID".
func verify(token, audience string) (issuer.Claims, time.Time, error) {
	word, uid, _ := strings.Cut(token, "-")
	if audience != v1alpha1.TokenAudience(types.UID(uid)) || word != "good" && word != "ended" {
		return issuer.Claims{}, time.Time{}, issuer.ErrRefused
	}
	return issuer.Claims{Subject: "alice", Groups: []string{v1alpha1.AccessView}, Audience: audience, ID: "t1", Credential: word}, time.Time{}, nil
}

// newHandler leads to a server.
func newHandler(t *testing.T, to *httptest.Server) *handler {
	t.Helper()
	server, err := url.Parse(to.URL + "/base")
	if err != nil {
		t.Fatal(err)
	}
	return &handler{Config{
		Cache: clusters{}, Verify: verify, Ended: func(string) []string { return []string{"other", "ended"} },
		Lead: func(_ context.Context, c *v1alpha1.Cluster) (Way, error) {
			return Way{server, to.Client().Transport, c.Name == "own"}, nil
		},
		Chain: chain.New(chain.Config{Log: slog.New(slog.DiscardHandler), Now: time.Now}), Log: slog.New(slog.DiscardHandler),
	}}
}

// serve authenticates and serves, as the chain has it done.
func (h *handler) serve(w http.ResponseWriter, r *http.Request) error {
	if err := h.authenticate(r, &chain.Request{}); err != nil {
		return err
	}
	h.ServeHTTP(w, r)
	return nil
}

func request(method, target, token string, header http.Header) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader("body"))
	maps.Copy(r.Header, header)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestWhoIsLetIn(t *testing.T) {
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	defer far.Close()
	for name, tc := range map[string]struct {
		target, token string
		status        int // 0 for a caller who is not let in
	}{
		"Good":         {"/clusters/blue/shop/api", "good-u1", http.StatusOK},
		"OfAnother":    {"/clusters/blue/shop/api", "good-u2", 0},
		"Ended":        {"/clusters/blue/shop/api", "ended-u1", 0},
		"Foreign":      {"/clusters/blue/shop/api", "kq1_token", 0},
		"NoCluster":    {"/clusters/blue/none/api", "good-u1", 0},
		"NoPath":       {"/clusters/blue/shop/metrics", "good-u1", 0},
		"Hosted":       {"/clusters/blue/own/api", "good-u2", http.StatusOK},
		"HostedEnded":  {"/clusters/blue/own/api", "ended-u2", 0},
		"HostedOther":  {"/clusters/blue/own/api", "good-u1", 0},
		"Organization": {"/clusters/red/shop/api", "good-u1", 0},
	} {
		t.Run(name, func(t *testing.T) {
			out := httptest.NewRecorder()
			err := newHandler(t, far).serve(out, request("GET", tc.target, tc.token, nil))
			if tc.status == 0 && !errors.Is(err, access.ErrUnauthenticated) || tc.status != 0 && (err != nil || out.Code != tc.status) {
				t.Errorf("got %v, status %d", err, out.Code)
			}
		})
	}
}

// TestWhatPasses: a call is made as its caller, and neither side says more than it may.
func TestWhatPasses(t *testing.T) {
	var got *http.Request
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		for _, name := range []string{"Set-Cookie", "Location", "Www-Authenticate", "X-Request-Id", "Access-Control-Allow-Origin"} {
			w.Header().Set(name, "hostile")
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Warning", `299 - "old"`)
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, "{}")
	}))
	defer far.Close()
	out := httptest.NewRecorder()
	in := request("POST", "/clusters/blue/shop/api/v1/namespaces/a/pods?dryRun=All", "good-u1", http.Header{
		"Cookie": {"kqueen=1"}, "Impersonate-User": {"root"}, "Impersonate-Uid": {"0"}, "Impersonate-Extra-A": {"b"}, "Accept": {"application/json"}, "X-Forwarded-For": {"1.2.3.4"},
	})
	if err := newHandler(t, far).serve(out, in); err != nil {
		t.Fatal(err)
	}
	want := http.Header{
		"Accept": {"application/json"}, "Impersonate-User": {"kqueen:alice"}, "Impersonate-Group": {"system:authenticated", "kqueen:view"},
		"Impersonate-Extra-Kqueen.io%2frequest-Id": {""}, "Accept-Encoding": {"gzip"}, "Content-Length": {"4"},
	}
	got.Header.Del("User-Agent")
	if diff := cmp.Diff(want, got.Header); diff != "" || got.URL.String() != "/base/api/v1/namespaces/a/pods?dryRun=All" {
		t.Errorf("asked for %s (-want +got):\n%s", got.URL, diff)
	}
	out.Header().Del("Date")
	answered := http.Header{"Content-Type": {"application/json"}, "Warning": {`299 - "old"`}, "Content-Length": {"2"}}
	if diff := cmp.Diff(answered, out.Header()); diff != "" || out.Code != http.StatusCreated || out.Body.String() != "{}" {
		t.Errorf("answered %d %s (-want +got):\n%s", out.Code, out.Body, diff)
	}
	// A cluster that takes the credential gets that and nothing that says who the caller is.
	in = request("POST", "/clusters/blue/own/api/v1/namespaces/a/pods", "good-u2", http.Header{
		"Cookie": {"kqueen=1"}, "Impersonate-User": {"root"}, "Impersonate-Extra-A": {"b"}, "Accept": {"application/json"}, "X-Remote-User": {"root"},
	})
	out = httptest.NewRecorder()
	if err := newHandler(t, far).serve(out, in); err != nil {
		t.Fatal(err)
	}
	want = http.Header{
		"Accept": {"application/json"}, "Authorization": {"Bearer good-u2"}, "X-Remote-User": {"root"}, "Accept-Encoding": {"gzip"}, "Content-Length": {"4"},
	}
	got.Header.Del("User-Agent")
	out.Header().Del("Date")
	if diff := cmp.Diff(want, got.Header) + cmp.Diff(answered, out.Header()); diff != "" {
		t.Errorf("of a hosted cluster (-want +got):\n%s", diff)
	}
}

// TestOwnCredentialsAreRefused: the caller is not told to sign in again for what is wrong with KQueen's credentials.
func TestOwnCredentialsAreRefused(t *testing.T) {
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer far.Close()
	out := httptest.NewRecorder()
	if err := newHandler(t, far).serve(out, request("GET", "/clusters/blue/shop/api", "good-u1", nil)); err != nil {
		t.Fatal(err)
	}
	if out.Code != http.StatusServiceUnavailable || !strings.Contains(out.Body.String(), "kqueen cluster import") {
		t.Errorf("answered %d: %s", out.Code, out.Body)
	}
	out = httptest.NewRecorder()
	if err := newHandler(t, far).serve(out, request("GET", "/clusters/blue/own/api", "good-u2", nil)); err != nil {
		t.Fatal(err)
	}
	if out.Code != http.StatusServiceUnavailable || !strings.Contains(out.Body.String(), "does not take credentials of KQueen now") {
		t.Errorf("a hosted cluster answered %d: %s", out.Code, out.Body)
	}
}

// TestSessions: what kubectl exec does passes in both directions.
func TestSessions(t *testing.T) {
	far := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", r.Header.Get("Upgrade"))
		_ = both.Flush()
		line, _ := both.ReadString('\n')
		_, _ = both.WriteString("heard " + line)
		_ = both.Flush()
	}))
	defer far.Close()
	h := newHandler(t, far)
	near := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.serve(w, r); err != nil {
			t.Error(err)
		}
	}))
	defer near.Close()
	conn, err := net.Dial("tcp", near.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /clusters/blue/shop/api/v1/namespaces/a/pods/b/exec HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer good-u1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	answer, err := http.ReadResponse(in, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("answered %v: %v", answer, err)
	}
	if _, err := io.WriteString(conn, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := in.ReadString('\n'); line != "heard hello\n" {
		t.Errorf("got %q: %v", line, err)
	}
}
