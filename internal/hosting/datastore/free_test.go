package datastore

import (
	"math"
	"testing"
)

func TestSpaceOf(t *testing.T) {
	for name, c := range map[string]struct {
		h    Health
		left int
		want int64
	}{
		"Empty":      {Health{QuotaBytes: 1000}, LeftByCopies, 800},
		"InUse":      {Health{QuotaBytes: 1000, DBInUseBytes: 700, DBBytes: 750}, LeftByCopies, 100},
		"LargeFile":  {Health{QuotaBytes: 1000, DBInUseBytes: 100, DBBytes: 880}, LeftByCopies, 20},
		"NothingIs":  {Health{QuotaBytes: 1000, DBInUseBytes: 850, DBBytes: 900}, LeftByCopies, -50},
		"NoQuotaIs":  {Health{DBInUseBytes: 850}, LeftByCopies, math.MaxInt64},
		"Restore":    {Health{QuotaBytes: 1000, DBInUseBytes: 850, DBBytes: 900}, LeftByRestores, 50},
		"FileIsFull": {Health{QuotaBytes: 1000, DBInUseBytes: 10, DBBytes: 1000}, LeftByCopies, -100},
	} {
		if got := spaceOf(c.h, c.left); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
