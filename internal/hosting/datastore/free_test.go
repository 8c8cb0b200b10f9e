package datastore

import (
	"math"
	"testing"
)

func TestSpaceOf(t *testing.T) {
	for name, c := range map[string]struct {
		h    Health
		want int64
	}{
		"Empty":      {Health{QuotaBytes: 1000}, 800},
		"InUse":      {Health{QuotaBytes: 1000, DBInUseBytes: 700, DBBytes: 750}, 100},
		"LargeFile":  {Health{QuotaBytes: 1000, DBInUseBytes: 100, DBBytes: 880}, 20},
		"NothingIs":  {Health{QuotaBytes: 1000, DBInUseBytes: 850, DBBytes: 900}, -50},
		"NoQuotaIs":  {Health{DBInUseBytes: 850}, math.MaxInt64},
		"FileIsFull": {Health{QuotaBytes: 1000, DBInUseBytes: 10, DBBytes: 1000}, -100},
	} {
		if got := spaceOf(c.h); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
