//go:build linux

package app

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestPort opens ports of which some are taken.
func TestPort(t *testing.T) {
	host := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	taken := taken(t)
	for name, c := range map[string]struct {
		wish, first, lastTime int
		want                  string // of the error
	}{
		"FirstIsTaken":    {first: taken},
		"LastTimeIsTaken": {first: 1, lastTime: taken, want: "open the gateway's port"},
		"WishIsTaken":     {wish: taken, first: 1, want: "(--gateway-port): listen"},
		"WishComesFirst":  {wish: taken, first: 1, lastTime: 1, want: "(--gateway-port): listen"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := port{"gateway", "--gateway-port", c.wish, c.first}.listen(host, c.lastTime)
			if err == nil {
				defer l.Close()
			}
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				// Not one that the kernel gives away by itself, which another program could have after a restart.
				if n := l.Addr().(*net.TCPAddr).Port; n <= taken || n >= taken+nearby {
					t.Errorf("got port %d, want one of the next %d after %d", n, nearby, taken)
				}
			}
			if c.lastTime == taken && strings.Contains(err.Error(), "choose another") {
				t.Errorf("another port is advised, which none of the clients know: %v", err)
			}
			if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "stop the program")) {
				t.Errorf("want an error with %q, got %v", c.want, err)
			}
		})
	}
}

// taken is a port on which another program listens.
func taken(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}
