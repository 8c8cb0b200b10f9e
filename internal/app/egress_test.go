//go:build linux

package app

import (
	"log/slog"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/egress"
)

// TestEgressOfThisHostIsRefused: an installation does not start with a list that would lead to machines on its host, nor with one
// that was emptied by hand.
func TestEgressOfThisHostIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		allowed []egress.Destination
		want    string
	}{
		"machines": {[]egress.Destination{{Range: netip.MustParsePrefix("10.0.0.0/8"), Port: 443}}, "--egress-allow: 10.0.0.0/8:443 cannot be allowed: it overlaps 10.223.0.0/16, the network of machines on KQueen's host"},
		"empty":    {[]egress.Destination{{}}, "--egress-allow: an entry is empty"},
	} {
		dir := filepath.Join(t.TempDir(), "data")
		_, err := New(t.Context(), Config{Engine: existing{}, Dir: dir, Log: slog.New(slog.DiscardHandler), EgressAllowed: tc.allowed})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
		if Used(dir) {
			t.Errorf("%s: the settings of a start that failed are kept", name)
		}
	}
}
