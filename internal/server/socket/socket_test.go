package socket

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"kqueen.io/kqueen/api/rest"
)

const (
	// callsEnv has the test binary connect to a socket and say what it heard, as another user.
	callsEnv = "KQUEEN_TEST_CALLS"
	stranger = 65534
)

func TestMain(m *testing.M) {
	if path := os.Getenv(callsEnv); path != "" {
		call(path)
		return
	}
	os.Exit(m.Run())
}

// call connects, asks, and writes what comes back.
func call(path string) {
	c, err := net.Dial("unix", path)
	if err != nil {
		os.Stdout.WriteString("dial: " + err.Error())
		return
	}
	_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: "+rest.LocalHost+"\r\nConnection: close\r\n\r\n")
	_, _ = io.Copy(os.Stdout, c)
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
		"user of root":  {stranger, 0, false},
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
	if got := as(t, uint32(os.Geteuid()), path); !strings.HasPrefix(got, "HTTP/1.1 200") {
		t.Fatalf("the owner got %q", got)
	}
	if got, want := <-served, (Peer{uint32(os.Geteuid())}).String()+"true"; got != want {
		t.Errorf("served %s, want %s", got, want)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user")
	}
	if got := as(t, stranger, path); !strings.HasPrefix(got, "dial:") {
		t.Errorf("another user got past the modes: %q", got)
	}
	for at, mode := range map[string]os.FileMode{path: 0o666, filepath.Dir(path): 0o755, filepath.Dir(filepath.Dir(path)): 0o755} {
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got := as(t, stranger, path); got != "" {
		t.Errorf("another user got %q", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-ended // what accepts connections writes the log
	if len(served) > 0 || !strings.Contains(log.String(), "uid="+strconv.Itoa(stranger)) {
		t.Errorf("served %d, logged %s", len(served), &log)
	}
}

// as calls the socket as a user.
func as(t *testing.T, uid uint32, path string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "calls") // where the other user can read it
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, self, 0o755)
	}
	for dir := filepath.Dir(program); err == nil && dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if uid != uint32(os.Geteuid()) && dir != filepath.Dir(path) {
			err = os.Chmod(dir, 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), callsEnv+"="+path)
	if uid != uint32(os.Geteuid()) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
