package issuer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestPlan(t *testing.T) {
	at := func(id string, after time.Duration) life { return life{id: id, signs: start.Add(after)} }
	const due = keyPeriod - publishLead
	tests := map[string]struct {
		reason string
		keys   []life
		now    time.Duration
		want   change
	}{
		"First":      {"No API server remembers other keys: it signs at once.", nil, 0, change{add: true, signs: start, next: start.Add(due)}},
		"Young":      {"Nothing is to be done.", []life{at("a", 0)}, time.Hour, change{next: start.Add(due)}},
		"JustBefore": {"Nothing is to be done yet.", []life{at("a", 0)}, due - 1, change{next: start.Add(due)}},
		"Due": {
			"The next key is published before the period ends, so that it signs when that ends.",
			[]life{at("a", 0)}, due, change{add: true, signs: start.Add(keyPeriod), next: start.Add(keyPeriod + afterlife)},
		},
		"Late": {
			"A process that was away for long publishes first all the same.",
			[]life{at("a", 0)}, 10 * keyPeriod,
			change{add: true, signs: start.Add(10*keyPeriod + publishLead), next: start.Add(10*keyPeriod + publishLead + afterlife)},
		},
		"Published":  {"The next one does not sign yet.", []life{at("a", 0), at("b", keyPeriod)}, due, change{next: start.Add(keyPeriod + afterlife)}},
		"TwoLiving":  {"The last token of a is not expired.", []life{at("a", 0), at("b", keyPeriod)}, keyPeriod + afterlife - 1, change{next: start.Add(keyPeriod + afterlife)}},
		"LastExpire": {"No token of a lives.", []life{at("a", 0), at("b", keyPeriod)}, keyPeriod + afterlife, change{drop: []string{"a"}, next: start.Add(keyPeriod + due)}},
		"LateDropsAndAdds": {
			"Both are done at once.", []life{at("a", 0), at("b", keyPeriod)}, 3 * keyPeriod,
			change{add: true, signs: start.Add(3*keyPeriod + publishLead), drop: []string{"a"}, next: start.Add(3*keyPeriod + publishLead + afterlife)},
		},
		"ClockWentBack": {"A key from the future is as good as a young one.", []life{at("a", keyPeriod)}, 0, change{next: start.Add(keyPeriod + due)}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got := plan(tc.keys, start.Add(tc.now))
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(change{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestSigning(t *testing.T) {
	keys := []life{{"a", start}, {"b", start.Add(time.Hour)}, {"c", start.Add(2 * time.Hour)}}
	tests := map[string]struct {
		after time.Duration
		want  string
	}{
		"Before": {-time.Hour, "a"}, "First": {0, "a"}, "Published": {time.Hour - 1, "a"}, "Second": {time.Hour, "b"}, "Third": {3 * time.Hour, "c"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := keys[signing(keys, start.Add(tc.after))].id; got != tc.want {
				t.Errorf("want %s, got %s", tc.want, got)
			}
		})
	}
}

// TestNoTokenIsEverRefused walks through a year, as a process does that is away now and then. An API server that asked for the
// keys at most keysFresh ago knows the key of each token that is signed now, and one that asks now knows the keys of
// all tokens that live.
func TestNoTokenIsEverRefused(t *testing.T) {
	const step = 30 * time.Second
	var keys []life
	var lastUse = map[string]time.Time{}
	published := map[string]time.Time{}
	names := 0
	renew := func(now time.Time) time.Time {
		c := plan(keys, now)
		for _, id := range c.drop {
			if used, ok := lastUse[id]; ok && used.Add(MaxLifetime+skew).After(now) {
				t.Fatalf("%s: key %s goes and its token of %s still lives", now, id, used)
			}
			keys = keys[1:]
		}
		if c.add {
			names++
			id := string(rune('A' + names))
			keys, published[id] = append(keys, life{id, c.signs}), now
		}
		if len(keys) > 3 {
			t.Fatalf("%s: %d keys", now, len(keys))
		}
		return plan(keys, now).next
	}
	next := renew(start)
	for now := start; now.Before(start.Add(365 * 24 * time.Hour)); now = now.Add(step) {
		// Every 50 days the process is away for three.
		if day := int(now.Sub(start).Hours() / 24); day%50 > 46 {
			continue
		}
		if !now.Before(next) {
			next = renew(now)
		}
		id := keys[signing(keys, now)].id
		if names > 1 && now.Sub(published[id]) < keysFresh {
			t.Fatalf("%s: key %s signs %s after it was published", now, id, now.Sub(published[id]))
		}
		lastUse[id] = now
	}
	if names < 12 {
		t.Errorf("want a new key each month, got %d", names)
	}
}
