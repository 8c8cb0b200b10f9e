package socket

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/socket/sockettest"
)

func TestMain(m *testing.M) { sockettest.Main(m) }

// ask calls the socket as a user.
func ask(t *testing.T, uid uint32, path string) string {
	t.Helper()
	return sockettest.Call(t, uid, path, "GET / HTTP/1.1\r\nHost: "+rest.LocalHost+"\r\nConnection: close\r\n\r\n")
}

func TestOwns(t *testing.T) {
	cases := map[string]struct {
		uid, runs uint32
		want      bool
	}{
		"root":          {0, 1000, true},
		"who runs it":   {1000, 1000, true},
		"another":       {1001, 1000, false},
		"another, root": {1000, 0, false},
		"root runs it":  {0, 0, true},
		"user of root":  {sockettest.Stranger, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := (Peer{c.uid}).owns(c.runs); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestForeign(t *testing.T) {
	cases := map[string]struct {
		host   string
		header http.Header
		want   string
	}{
		"local":       {rest.LocalHost, http.Header{"User-Agent": {"kqueen"}, "If-Match": {"*"}}, ""},
		"other host":  {"localhost", nil, "Host"},
		"with a port": {rest.LocalHost + ":8080", nil, "Host"},
		"rebound":     {"evil.example.com", nil, "Host"},
		"origin":      {rest.LocalHost, http.Header{"Origin": {"null"}}, "Origin"},
		"fetch":       {rest.LocalHost, http.Header{"Sec-Fetch-Site": {"none"}}, "Sec-Fetch-Site"},
		"referer":     {rest.LocalHost, http.Header{"Referer": {"http://kqueen/"}}, "Referer"},
		"cookie":      {rest.LocalHost, http.Header{"Cookie": {"a=b"}}, "Cookie"},
		"token":       {rest.LocalHost, http.Header{"Authorization": {"Bearer x"}}, "Authorization"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Host, r.Header = c.host, c.header
			if got, why := Foreign(r); got != c.want || (why == "") != (got == "") {
				t.Errorf("got %q, %q", got, why)
			}
		})
	}
}

// TestListen wants the owner to be served and known, and another user to be refused, also when the socket and its folder
// are open to all.
func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api.sock")
	var log bytes.Buffer
	l, err := Listen(path, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	served := make(chan string, 1)
	s := &http.Server{ConnContext: With, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		peer, ok := PeerOf(r.Context())
		served <- peer.String() + strconv.FormatBool(ok)
	})}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	if got := ask(t, uint32(os.Geteuid()), path); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Fatalf("the owner got %q", got)
	}
	if got, want := <-served, (Peer{uint32(os.Geteuid())}).String()+"true"; got != want {
		t.Errorf("served %s, want %s", got, want)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user")
	}
	if got := ask(t, sockettest.Stranger, path); !strings.HasPrefix(got, "dial:") {
		t.Errorf("another user got past the modes: %q", got)
	}
	for at, mode := range map[string]os.FileMode{path: 0o666, filepath.Dir(path): 0o755, filepath.Dir(filepath.Dir(path)): 0o755} {
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got := ask(t, sockettest.Stranger, path); got != "" {
		t.Errorf("another user got %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-ended // what accepts connections writes the log
	if len(served) > 0 || !strings.Contains(log.String(), "uid="+strconv.Itoa(sockettest.Stranger)) {
		t.Errorf("served %d, logged %s", len(served), &log)
	}
}
