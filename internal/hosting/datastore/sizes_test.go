package datastore

import (
	"testing"
	"time"
)

func TestWorthShrinking(t *testing.T) {
	const mib, gib, quota = 1 << 20, 1 << 30, 8 << 30
	for _, c := range []struct {
		name  string
		size  sizes
		full  bool
		since time.Duration
		want  bool
	}{
		{name: "half of a file is free", size: sizes{100 * mib, 40 * mib, quota}, since: MaintainInterval, want: true},
		{name: "it was done just now", size: sizes{100 * mib, 40 * mib, quota}, since: MaintainInterval - 1},
		{name: "less than half", size: sizes{100 * mib, 60 * mib, quota}, since: MaintainInterval},
		{name: "so little is not worth it", size: sizes{30 * mib, 1 * mib, quota}, since: MaintainInterval},
		{name: "the pause would be long and there is room", size: sizes{6 * gib, 1 * gib, quota}, since: MaintainInterval},
		{name: "the pause is long, but the store is about to be full", size: sizes{7 * gib, 1 * gib, quota}, since: MaintainInterval, want: true},
		{name: "it is about to be full of data", size: sizes{7 * gib, 6 * gib, quota}, since: MaintainInterval},
		{name: "a full store has nothing to lose", size: sizes{quota, quota - mib, quota}, full: true, want: true},
		{name: "nothing is free", size: sizes{quota, quota, quota}, full: true},
	} {
		if got := c.size.worthShrinking(c.full, c.since); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}
