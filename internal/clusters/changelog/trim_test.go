package changelog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/v1alpha1"
)

// hour is the begin of an hour of the tests.
func hour(n int) time.Time { return time.Unix(1_700_000_000, 0).Add(time.Duration(n) * time.Hour) }

// basesAt are backups of hours, with revisions ten times those.
func basesAt(hours ...int) []Base {
	var bases []Base
	for _, h := range hours {
		bases = append(bases, Base{Name: fmt.Sprint(h), Revision: int64(10 * h), TakenTime: hour(h)})
	}
	return bases
}

// TestNeeded: a log is needed from the newest backup on that is old enough, and a backup for each quarter of the window after it.
func TestNeeded(t *testing.T) {
	one := []Kept{{NameOf(hour(0), 0), hour(0), 1}}
	two := []Kept{{NameOf(hour(0), 0), hour(0), 1}, {NameOf(hour(10), 0), hour(10), 100}}
	for name, test := range map[string]struct {
		logs  []Kept
		bases []Base
		since int
		want  string
		from  int // -1 for none
	}{
		"no backup":              {one, nil, 5, "", -1},
		"the first":              {one, basesAt(2), 0, "2", 2},
		"the newest old one":     {one, basesAt(1, 2, 3, 6), 3, "3", 3},
		"one for each quarter":   {one, basesAt(1, 2, 4, 5, 8, 9, 12, 13, 16), 1, "1 5 9 13", 1},
		"in any order":           {one, basesAt(16, 9, 5, 1, 13), 1, "1 5 9 13", 1},
		"before the log":         {two[1:], basesAt(8, 9, 11), 5, "11", 11},
		"of each log":            {two, basesAt(2, 7, 12, 17), 1, "2 7 12 17", 2},
		"of a log that is over":  {two, basesAt(2, 7, 12, 17), 11, "12 17", 12},
		"no backup of the last":  {two, basesAt(2), 1, "2", 2},
		"of an earlier revision": {[]Kept{{NameOf(hour(0), 0), hour(0), 25}}, basesAt(2, 3), 4, "3", 3},
	} {
		need := Need{Since: hour(test.since), Window: 16 * time.Hour, Bases: test.bases}
		indexes, from := Needed(test.logs, need)
		var got []string
		for _, i := range indexes {
			got = append(got, test.bases[i].Name)
		}
		want := time.Time{}
		if test.from >= 0 {
			want = hour(test.from).Add(time.Second)
		}
		if strings.Join(got, " ") != test.want || !from.Equal(want) {
			t.Errorf("%s: got %v from %s, want %s from %s", name, got, from, test.want, want)
		}
	}
}

// TestSurplus: what is before the backup at which the window begins goes, and the oldest of too many.
func TestSurplus(t *testing.T) {
	first, second := NameOf(hour(0), 0), NameOf(hour(10), 0)
	for name, test := range map[string]struct {
		logs  map[string][]int64
		bases []Base
		since int
		most  int
		want  map[string][]int64
	}{
		"nothing":               {map[string][]int64{first: {1, 20, 40}}, basesAt(1), 5, 100, map[string][]int64{}},
		"before the backup":     {map[string][]int64{first: {1, 20, 40, 60}}, basesAt(1, 5), 6, 100, map[string][]int64{first: {1, 20}}},
		"begins at the backup":  {map[string][]int64{first: {1, 20, 50, 60}}, basesAt(1, 5), 6, 100, map[string][]int64{first: {1, 20}}},
		"the last one stays":    {map[string][]int64{first: {1}}, basesAt(5), 6, 100, map[string][]int64{}},
		"no backup yet":         {map[string][]int64{first: {1, 20}}, nil, 6, 100, map[string][]int64{}},
		"too many":              {map[string][]int64{first: {1, 20, 40, 60}}, basesAt(1), 0, 3, map[string][]int64{first: {1}}},
		"too many of two":       {map[string][]int64{first: {1, 20, 40}, second: {100, 120}}, basesAt(1, 11), 0, 3, map[string][]int64{first: {1, 20}}},
		"too many of the last":  {map[string][]int64{first: {1, 20}, second: {100, 120, 140}}, basesAt(1, 11), 0, 2, map[string][]int64{first: {1, 20}, second: {100}}},
		"a log that is over":    {map[string][]int64{first: {1, 20}, second: {100}}, basesAt(1, 11), 12, 100, map[string][]int64{first: {1, 20}}},
		"a log without backups": {map[string][]int64{first: {1, 20}, second: {100}}, basesAt(11), 0, 100, map[string][]int64{first: {1, 20}}},
	} {
		got := surplus(test.logs, Need{Since: hour(test.since), Window: 16 * time.Hour, Bases: test.bases}, test.most)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestTrust: what is stored is read with the encryption key, whatever became of authorities.
func TestTrust(t *testing.T) {
	cp := &v1alpha1.ControlPlane{}
	cp.Status.Trust = []v1alpha1.TrustRoot{{Name: "ca", Fingerprint: "sha256:cc"}, {Name: "encryption", Fingerprint: "sha256:ee"}}
	now := TrustOf(cp)
	if diff := cmp.Diff(map[string]string{"encryption": "sha256:ee"}, now); diff != "" {
		t.Error(diff)
	}
	for want, then := range map[string]map[string]string{
		"":           {"ca": "sha256:00", "encryption": "sha256:ee"},
		"encryption": {"ca": "sha256:cc", "encryption": "sha256:00"},
	} {
		if got := Untrusted(then, cp); got != want {
			t.Errorf("%v: got %q, want %q", then, got, want)
		}
	}
	if got := Untrusted(nil, cp) + Untrusted(map[string]string{"encryption": "sha256:ee"}, &v1alpha1.ControlPlane{}); got != "encryption" {
		t.Errorf("got %q", got)
	}
	// While the key is rotated, both can be read.
	for _, other := range []string{"next-encryption", "old-encryption"} {
		cp.Status.Trust = []v1alpha1.TrustRoot{{Name: "encryption", Fingerprint: "sha256:11"}, {Name: other, Fingerprint: "sha256:ee"}}
		if got := Untrusted(map[string]string{"encryption": "sha256:ee"}, cp); got != "" {
			t.Errorf("with %s: got %q", other, got)
		}
	}
}
