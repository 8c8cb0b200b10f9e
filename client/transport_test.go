package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"kqueen.io/kqueen/api/rest"
)

// TestLocalSocket wants a client to call over a socket, also over one whose path no kernel takes, with nothing that the
// socket refuses.
func TestLocalSocket(t *testing.T) {
	for name, folder := range map[string]string{"short": "s", "long": strings.Repeat("long/", 30)} {
		t.Run(name, func(t *testing.T) {
			path := listen(t, filepath.Join(t.TempDir(), folder), func(w http.ResponseWriter, r *http.Request) {
				if r.Host != rest.LocalHost || r.Header.Get("Authorization") != "" || r.URL.Path != "/api/v1/me" {
					t.Errorf("%s %s %v", r.Host, r.URL, r.Header)
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(rest.Me{Name: "kqueen:owner"})
			})
			c := newClient(t, Config{Connection: Connection{Server: "unix://" + path}})
			me, err := c.GetMe(t.Context())
			if err != nil || me.Name != "kqueen:owner" {
				t.Errorf("%+v, %v", me, err)
			}
		})
	}
}

// listen serves on a socket in a folder, and returns its path.
func listen(t *testing.T, folder string, handle http.HandlerFunc) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("a socket with a long path is reached through /proc, which only Linux has")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	var config net.ListenConfig
	l, err := config.Listen(context.WithoutCancel(t.Context()), "unix", fmt.Sprintf("/proc/self/fd/%d/api.sock", open.Fd()))
	if err != nil {
		t.Fatalf("listen in %s: %v", folder, err)
	}
	s := &http.Server{Handler: handle}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return filepath.Join(folder, "api.sock")
}

func TestLocalSocketIsRefused(t *testing.T) {
	for name, c := range map[string]Connection{
		"relative":     {Server: "unix://api.sock"},
		"none":         {Server: "unix://"},
		"with a pin":   {Server: "unix:///api.sock", CAPin: "sha256:00"},
		"with a CA":    {Server: "unix:///api.sock", CA: []byte("x")},
		"opaque":       {Server: "unix:api.sock"},
		"without TLS":  {Server: "http://kqueen"},
		"no such word": {Server: "local:///api.sock"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := New(Config{Connection: c}); err == nil || !strings.HasPrefix(err.Error(), "server: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNothingListens wants a caller of a local socket to be told at once, without further tries.
func TestNothingListens(t *testing.T) {
	dir, err := os.MkdirTemp("", "kq") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "api.sock")
	left, err := new(net.ListenConfig).Listen(t.Context(), "unix", path)
	if err != nil {
		t.Fatal(err)
	}
	left.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{Connection: Connection{Server: "unix://" + path}})
	c.wait = func(context.Context, time.Duration) error { t.Error("it tries again"); return nil }
	if _, err := c.GetMe(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v", err)
	}
	c = newClient(t, Config{Connection: Connection{Server: "unix://" + filepath.Join(t.TempDir(), "api.sock")}})
	if err := c.SignOut(t.Context()); err == nil || !strings.Contains(err.Error(), "api.sock") {
		t.Errorf("nothing listens: %v", err)
	}
}
