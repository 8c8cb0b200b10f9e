package listing

import (
	"strings"
	"testing"
)

// TestQuantity: an amount is read, and one that would cost the reader more than it costs the API server counts as none.
func TestQuantity(t *testing.T) {
	for said, want := range map[string]int64{
		"": 0, "x": 0, "2": 2, "1500m": 2, "4Gi": 4 << 30, "1k": 1000, "1E": 1e18, "1Ei": 1 << 60, "12e6": 12e6, "1E3": 1000, "1e-3": 1, "-1": -1,
		"1e1000000000": 0, "1e-1000000000": 0, "1234567890123456789012e1000000000": 0, "1e19": 0, "1e": 0, "1e+": 0, "1ee1": 0,
		strings.Repeat("9", maxQuantity+1): 0,
	} {
		if q := Quantity(said); q.Value() != want {
			t.Errorf("%q is %d, want %d", said, q.Value(), want)
		}
	}
}
