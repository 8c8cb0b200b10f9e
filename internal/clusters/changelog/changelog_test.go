package changelog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/clusters/archive"
)

// TestEveryMoment records what a random tenant writes, while KQueen is stopped, killed and started, and asks for moments of it: each is
// the truth, or it is refused and is in a time in which nothing was recorded.
func TestEveryMoment(t *testing.T) {
	for seed := range uint64(5) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { synctest.Test(t, func(t *testing.T) { everyMoment(t, seed) }) })
	}
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// span is a time in which KQueen did not run, from the last that was surely written.
type span struct{ from, to time.Time }

func everyMoment(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 7))
	p := newPlace(t)
	p.put(map[string]string{"configmaps/default/first": "0"})
	p.start()
	synctest.Wait()
	begin := time.Now()
	bases := []Base{p.base()}
	var away []span
	for range 400 {
		pass(time.Duration(random.IntN(2500)) * time.Millisecond)
		switch n := random.IntN(100); {
		case n < 70:
			p.put(randomKeys(random))
		case n < 80:
			p.elsewhere()
		case n < 84:
			pass(time.Duration(random.IntN(200)) * time.Second)
		case n < 88: // in whole seconds, as backups say
			pass(time.Until(time.Now().Truncate(time.Second).Add(time.Second)))
			bases = append(bases, p.base())
		case n < 90:
			p.put(map[string]string{"secrets/default/large": strings.Repeat("L", 200<<10) + fmt.Sprint(n)})
		case n < 93:
			if err := p.recorders.Flush(t.Context(), "s1"); err != nil {
				t.Fatal(err)
			}
			checkMoment(t, p, bases, time.Now(), nil)
		default:
			end, lost := p.kill, idleAfter+time.Minute
			if n > 96 {
				end, lost = p.end, time.Minute // until when all is told where nothing is written
			}
			synctest.Wait()
			from := time.Now().Add(-lost)
			end()
			for range random.IntN(4) {
				pass(time.Duration(random.IntN(30_000)) * time.Millisecond)
				p.put(randomKeys(random))
			}
			p.start()
			synctest.Wait()
			away = append(away, span{from, time.Now()})
		}
		synctest.Wait()
	}
	if err := p.recorders.Flush(t.Context(), "s1"); err != nil {
		t.Fatal(err)
	}
	end := time.Now()
	refused := 0
	const moments = 120
	for range moments {
		at := begin.Add(2*time.Second + time.Duration(random.Int64N(int64(end.Sub(begin)-2*time.Second))))
		refused += checkMoment(t, p, bases, at, away)
	}
	if refused > moments/2 {
		t.Errorf("%d of %d moments were refused", refused, moments)
	}
	if logs := p.recorders.Ensure(p.of); len(logs.Logs) != 1 || logs.Broken != "" || logs.Problem != nil {
		t.Errorf("%+v", logs)
	}
	p.end()
}

// randomKeys are one to three writes and removals.
func randomKeys(random *rand.Rand) map[string]string {
	keys := map[string]string{}
	for range 1 + random.IntN(3) {
		folder := []string{"configmaps/default/", "secrets/default/", "leases/kube-system/"}[random.IntN(3)]
		value := ""
		if random.IntN(4) > 0 {
			value = fmt.Sprint(random.Int())
		}
		keys[folder+fmt.Sprint(random.IntN(20))] = value
	}
	return keys
}

// checkMoment compares a moment with the truth, and returns 1 when it is refused.
func checkMoment(t *testing.T, p *place, bases []Base, at time.Time, away []span) int {
	t.Helper()
	got, revision, err := p.replay(bases, at)
	if _, ok := errors.AsType[*NotRecordedError](err); ok {
		if !slices.ContainsFunc(away, func(s span) bool { return s.from.Before(at) && at.Before(s.to) }) {
			t.Errorf("%s: %v", at, err)
		}
		return 1
	}
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	want, last := p.at(at)
	if diff := cmp.Diff(want, got); diff != "" || revision > last || revision < 100 {
		t.Fatalf("%s: revision %d of %d: %s", at, revision, last, diff)
	}
	return 0
}

// TestBroken: what the data store has forgotten, or never knew, begins another log, and the one before stays to be read.
func TestBroken(t *testing.T) {
	for name, damage := range map[string]func(*place){
		"more was changed": func(p *place) { p.compacted = p.revision },
		"another past":     func(p *place) { p.revision = 50 },
		"has another past": func(p *place) { // and has overtaken what was recorded
			for i := range p.history {
				p.history[i].Value = []byte("of another past")
			}
		},
		"not signed": func(p *place) {
			for name := range p.files {
				p.files[name][3] ^= 1
			}
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { broken(t, name, damage) }) })
	}
}

func broken(t *testing.T, name string, damage func(*place)) {
	p := newPlace(t)
	p.start()
	synctest.Wait()
	bases := []Base{p.base()}
	for range 3 {
		pass(3 * time.Second)
		p.put(map[string]string{"a": time.Now().String(), "minions/n": "skipped"})
	}
	synctest.Wait()
	whole := time.Now()
	p.end()
	pass(time.Second)
	p.put(map[string]string{"b": "while it did not run"})
	damage(p)
	p.start()
	pass(2 * retryMost)
	known := p.recorders.Ensure(p.of)
	if len(known.Logs) != 2 || !strings.Contains(known.Broken, name) || known.Problem != nil {
		t.Fatalf("%+v", known)
	}
	_, _, err := p.replay(bases, time.Now())
	if err == nil || !strings.Contains(err.Error(), "no backup was taken since then") {
		t.Errorf("got %v", err)
	}
	if name != "not signed" {
		got, _, err := p.replay(bases, whole)
		want, _ := p.at(whole)
		if name == "has another past" {
			want = map[string]string{"a": got["a"]}
		}
		delete(want, "minions/n")
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	p.end()
}

// TestFails: while nothing can be written it says so, and afterwards nothing is missing.
func TestFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.start()
		synctest.Wait()
		bases := []Base{p.base()}
		pass(2 * time.Second)
		p.mu.Lock()
		p.fails = errors.New("the disk is full")
		p.mu.Unlock()
		p.put(map[string]string{"a": "1"})
		pass(time.Minute)
		if known := p.recorders.Ensure(p.of); known.Problem == nil || !strings.Contains(known.Problem.Error(), "the disk is full") || p.news.Load() == 0 {
			t.Errorf("%+v, %d notices", known, p.news.Load())
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.recorders.Flush(ctx, "s1"); err == nil {
			t.Error("all was written to a full disk")
		}
		p.mu.Lock()
		p.fails = nil
		p.mu.Unlock()
		pass(2 * retryMost)
		if err := p.recorders.Flush(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
		got, _, err := p.replay(bases, time.Now())
		if want, _ := p.at(time.Now()); err != nil || !cmp.Equal(want, got) {
			t.Error(err, got)
		}
		if known := p.recorders.Ensure(p.of); known.Problem != nil || known.Broken != "" {
			t.Errorf("%+v", known)
		}
		p.end()
	})
}

// TestHangs: a folder that hangs holds up the recording, and not the memory: the watch ends.
func TestHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.start()
		synctest.Wait()
		bases := []Base{p.base()}
		p.hangs = make(chan struct{})
		pass(2 * time.Second)
		p.put(map[string]string{"a": "1"})
		pass(3 * writeTimeout)
		close(p.hangs)
		pass(retryMost)
		if err := p.recorders.Flush(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
		got, _, err := p.replay(bases, time.Now())
		if want, _ := p.at(time.Now()); err != nil || !cmp.Equal(want, got) {
			t.Error(err, got)
		}
		p.end()
	})
}

// TestOther: what is recorded with other keys, or of another control plane, is not put behind what there is.
func TestOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.start()
		synctest.Wait()
		p.of.Log.ControlPlane = "p2"
		if known := p.recorders.Ensure(p.of); len(known.Logs) > 0 {
			t.Errorf("%+v", known)
		}
		synctest.Wait() // the one before has ended, at the latest
		p.recorders.Ensure(p.of)
		synctest.Wait()
		if known := p.recorders.Ensure(p.of); len(known.Logs) != 2 || !strings.Contains(known.Broken, "another one") {
			t.Errorf("%+v", known)
		}
		p.recorders.Stop("s1")
		synctest.Wait()
		if !p.recorders.Stop("s1") || p.recorders.Flush(t.Context(), "s1") == nil {
			t.Error("it goes on")
		}
		p.end()
	})
}

// TestTrimmed: what is older than what is needed is removed, and every moment after that is still there.
func TestTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		p.start()
		synctest.Wait()
		var bases []Base
		for range 5 {
			bases = append(bases, p.base())
			for range 4 {
				pass(tailAge / 2)
				p.put(map[string]string{"a": time.Now().String()})
			}
		}
		if err := p.recorders.Flush(t.Context(), "s1"); err != nil {
			t.Fatal(err)
		}
		before := len(p.files)
		since := bases[3].TakenTime.Add(time.Minute)
		p.recorders.Trim("s1", Need{Since: since, Bases: bases})
		synctest.Wait()
		if len(p.files) >= before {
			t.Errorf("%d files of %d", len(p.files), before)
		}
		checkMoment(t, p, bases, since, nil)
		checkMoment(t, p, bases, time.Now(), nil)
		if _, _, err := p.replay(bases, bases[1].TakenTime.Add(time.Minute)); err == nil {
			t.Error("a moment of what is removed was found")
		}
		p.end()
	})
}

func TestOver(t *testing.T) {
	r := Replayed{changes: map[string]archive.Change{
		"0": {Key: "0", Value: []byte("new")}, "b": {Key: "b", Value: []byte("changed")}, "c": {Key: "c", Removed: true},
		"cc": {Key: "cc", Removed: true}, "e": {Key: "e", Value: []byte("last")},
	}}
	base := func(yield func(archive.Entry, error) bool) {
		for _, key := range []string{"a", "b", "c", "d"} {
			if !yield(archive.Entry{Key: key, Value: []byte("old")}, nil) {
				return
			}
		}
	}
	var got []string
	for e, err := range r.Over(base) {
		got = append(got, fmt.Sprint(e.Key, "=", string(e.Value), err))
	}
	want := []string{"0=new<nil>", "a=old<nil>", "b=changed<nil>", "d=old<nil>", "e=last<nil>"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for e := range r.Over(base) { // it may end early
		if e.Key == "b" {
			break
		}
	}
}
