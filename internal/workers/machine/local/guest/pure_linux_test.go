package guest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRead: a configuration that is missing or damaged is named, and gives no machine.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "guest.json")
	if _, err := Read(file); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "read the machine's configuration: ") {
		t.Errorf("none: %v", err)
	}
	for content, problem := range map[string]string{
		`{"hostname": "a", "tree": null, "health": "10.9.1.2:10247"}`: "",
		`{"hostname": "a"`:             "read the machine's configuration " + file + ": unexpected end",
		`{"health": "here"}`:           "read the machine's configuration " + file + ": ",
		`{"masquerade": "10.0.0.0/x"}`: "read the machine's configuration " + file + ": ",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := Read(file)
		if problem == "" && (err != nil || c.Hostname != "a") || problem != "" && (err == nil || !strings.HasPrefix(err.Error(), problem)) {
			t.Errorf("%s: got %+v, %v; want %q", content, c, err, problem)
		}
	}
}

// TestDialInside: an API server reaches pods and Services by the egress, and nothing else that the machine could.
func TestDialInside(t *testing.T) {
	pods, services := netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00:96::/112")
	for target, ranges := range map[netip.AddrPort][]netip.Prefix{
		netip.MustParseAddrPort("127.0.0.1:10247"):        {pods, services},
		netip.MustParseAddrPort("169.254.169.254:80"):     {pods, services}, // where clouds give out credentials
		netip.MustParseAddrPort("10.245.0.1:80"):          {pods, services},
		netip.MustParseAddrPort("[fd00:96::1:0]:443"):     {pods, services},
		netip.MustParseAddrPort("[::ffff:10.244.0.1]:80"): {pods, services}, // another spelling, which routes may not follow
		netip.MustParseAddrPort("10.244.0.1:80"):          nil,
	} {
		conn, err := dialInside(-1, ranges)(t.Context(), target)
		if err == nil || err.Error() != target.String()+" is neither a pod nor a Service" {
			t.Errorf("%s: got %v, %v", target, conn, err)
		}
	}
}

// TestDamagedRoutes: half of a file, as while the disk is full, takes no route away.
func TestDamagedRoutes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes.json")
	have := map[Route]bool{{netip.MustParsePrefix("10.244.1.0/24"), netip.MustParseAddr("10.9.1.3")}: true}
	before := maps.Clone(have)
	for content, problem := range map[string]string{
		"":                                     "read " + file + ": unexpected end",
		`[{"to": "10.244.2.0/24", "via": "10.`: "read " + file + ": unexpected end",
		`[{"to": "10.244.2.0/33"}]`:            "read " + file + ": ",
	} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := (&networks{}).follow(file, have); err == nil || !strings.HasPrefix(err.Error(), problem) || !maps.Equal(have, before) {
			t.Errorf("%q: %v, routes %v", content, err, have)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := (&networks{}).follow(file, have); !errors.Is(err, fs.ErrNotExist) || !maps.Equal(have, before) {
		t.Errorf("no file: %v, routes %v", err, have)
	}
}

// TestKeepRoutesGoesOn: a machine whose routes cannot be read lives on, and says what is wrong.
func TestKeepRoutesGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "routes.json")
	if err := os.WriteFile(file, []byte("["), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var said bytes.Buffer
	if err := (&networks{}).keepRoutes(ended, file, slog.New(slog.NewTextHandler(&said, nil))); err != nil {
		t.Errorf("got %v, with which process 1 would end", err)
	}
	for _, want := range []string{"level=ERROR", "routes are not as wanted; they are tried again", file} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, &said)
		}
	}
}

// TestCarryToNoServer: where the host refuses, the caller's connection ends as if the server had.
func TestCarryToNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	to := netip.MustParseAddrPort(l.Addr().String())
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	carry(t.Context(), far, to)
	if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the caller reads %v, want the end", err)
	}
}
