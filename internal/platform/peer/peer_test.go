package peer_test

import (
	"net/netip"
	"testing"

	"kqueen.io/kqueen/internal/platform/peer"
)

func TestOf(t *testing.T) {
	tests := map[string]string{
		"192.0.2.7": "192.0.2.7/32", "::ffff:192.0.2.7": "192.0.2.7/32", "2001:db8:1:2:3::4": "2001:db8:1:2::/64",
		"2001:db8::ffff:1": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	}
	for address, want := range tests {
		if got := peer.Of(netip.MustParseAddr(address)).String(); got != want {
			t.Errorf("%s is %q, want %q", address, got, want)
		}
	}
	if got := peer.Of(netip.Addr{}); got.IsValid() {
		t.Errorf("no address is %q", got)
	}
}
