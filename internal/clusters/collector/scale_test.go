package collector_test

import (
	"context"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/platform/database/databasetest"
)

// scale is how large a simulated fleet is, and what happens in it.
type scale struct {
	clusters, nodes, pods int
	// days are played one after the other as fast as the store takes them; changes is how many there are in each cluster and day.
	days, changes int
	// look is the time between two looks whether the store has all.
	look time.Duration
}

// ofTruth is 100 clusters with half a million containers of which 5 % change each day, or some for the short form.
func ofTruth() scale {
	if os.Getenv("KQUEEN_TRUTH") == "full" {
		return scale{clusters: 100, nodes: 50, pods: 2950, days: 8, changes: 250, look: 5 * time.Second}
	}
	return scale{clusters: 4, nodes: 3, pods: 60, days: 4, changes: 20, look: 50 * time.Millisecond}
}

// TestTruthAtScale: a collector in a process of its own is killed while it writes the first lists and while clusters change, and watches
// break and expire. What the store then says of images, kubelets and containers is what was there: now, at times in the past, and between them.
func TestTruthAtScale(t *testing.T) {
	if os.Getenv("KQUEEN_TRUTH") == "full" {
		truthAtScale(t, databasetest.SQLite(t))
		return
	}
	databasetest.EachAddress(t, truthAtScale)
}

func truthAtScale(t *testing.T, address string) {
	size := ofTruth()
	began := time.Now()
	w := newPlay(t, size, address)
	w.collector.start()
	w.killSoon(time.Duration(size.clusters) * 300 * time.Millisecond)
	w.collector.start()
	w.settle("first lists")
	for day := range size.days {
		w.day(day)
	}
	w.judgeAll()
	w.collector.end()
	t.Logf("%d kills, %s in all", w.kills, time.Since(began).Round(time.Second))
}

// play is a fleet that changes, a collector of it, and what was true when.
type play struct {
	t         testing.TB
	size      scale
	fleet     *simulator.Fleet
	collector *process
	store     *inventory.Store
	random    *rand.Rand
	truths    []*truth
	kills     int
}

func newPlay(t testing.TB, size scale, address string) *play {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &play{t: t, size: size, fleet: simulator.New(seed, size.clusters, size.nodes, size.pods), random: rand.New(rand.NewPCG(seed, 2))}
	for _, name := range w.fleet.Names() {
		w.fleet.Cluster(name).Run()
		w.fleet.Cluster(name).Compact()
	}
	server := httptest.NewServer(w.fleet)
	t.Cleanup(func() { // watches that are open would hold it up
		server.CloseClientConnections()
		server.Close()
	})
	w.store = inventory.New(databasetest.Open(t, address), time.Now)
	if err := w.store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.collector = &process{t: t, where: server.URL + " " + address + " " + number(size.clusters)}
	return w
}

// killSoon kills the collector within a time, at any moment of it.
func (w *play) killSoon(within time.Duration) {
	w.t.Helper()
	select {
	case <-time.After(time.Duration(w.random.Int64N(int64(within)))):
	case <-w.t.Context().Done():
	}
	w.collector.kill()
	w.kills++
}

// day has all clusters change, with a disturbance in the middle, and waits until the store has what is then there.
func (w *play) day(n int) {
	w.t.Helper()
	w.churn(w.size.changes / 2)
	rest := w.size.changes - w.size.changes/2
	what := "killed in the middle"
	switch n % 4 {
	case 0:
		w.killSoon(500 * time.Millisecond)
		w.churn(rest)
		w.collector.start()
	case 1:
		what = "watches expire"
		for _, name := range w.fleet.Names() {
			w.fleet.Cluster(name).CutWatches()
		}
		w.churn(rest)
		for _, name := range w.fleet.Names() {
			w.fleet.Cluster(name).Compact()
		}
	case 2:
		what = "killed twice, and the versions expire meanwhile"
		w.killSoon(time.Second)
		w.churn(rest)
		for _, name := range w.fleet.Names() {
			w.fleet.Cluster(name).Compact()
		}
		w.collector.start()
		w.killSoon(3 * time.Second)
		w.collector.start()
	default:
		what = "nothing"
		w.churn(rest)
	}
	w.settle(what)
}

func (w *play) churn(changes int) {
	for _, name := range w.fleet.Names() {
		w.fleet.Cluster(name).Churn(changes)
		w.fleet.Cluster(name).Upgrade(1 + w.size.nodes/20)
	}
}

// settle waits until the store says what is there, and keeps that with the time.
func (w *play) settle(what string) {
	w.t.Helper()
	began := time.Now()
	now := truthOf(w.fleet, len(w.truths)%4 == 0)
	deadline, look := time.After(time.Hour), time.NewTicker(w.size.look)
	defer look.Stop()
	for {
		verdicts := w.judge(now, time.Time{})
		if right(verdicts) {
			break
		}
		select {
		case <-look.C:
		case <-deadline:
			w.t.Fatalf("%s: the store does not come to what is there:\n%s", what, say(verdicts))
		}
	}
	w.report(what, now, time.Time{})
	now.at = time.Now()
	w.truths = append(w.truths, now)
	w.t.Logf("%s: settled after %s", what, time.Since(began).Round(time.Millisecond))
	// A batch is dated when the store is told of it, just before what it has was gathered: what comes from here on is to be later than now.
	select {
	case <-time.After(5 * gathering):
	case <-w.t.Context().Done():
	}
}

// judgeAll asks of all times that were kept, and what changed between them.
func (w *play) judgeAll() {
	w.t.Helper()
	for n, truth := range w.truths {
		w.report("as of "+number(n), truth, truth.at)
		if n > 0 {
			w.between(n-1, n)
		}
	}
	w.between(0, len(w.truths)-1)
	w.report("now", w.truths[len(w.truths)-1], time.Time{})
}

// report fails for what is not exactly so.
func (w *play) report(what string, of *truth, at time.Time) {
	w.t.Helper()
	began := time.Now()
	verdicts := append(w.judge(of, at), w.judgeContainers(of, at)...)
	w.t.Logf("%s (%s):\n%s", what, time.Since(began).Round(time.Millisecond), say(verdicts))
	if !right(verdicts) {
		w.t.Errorf("%s: the store says something else than what was there", what)
	}
}

// pages reads all pages of what the store has.
func pages[T any](t testing.TB, f inventory.Filter, read func(context.Context, inventory.Filter) (inventory.Page[T], error)) []T {
	t.Helper()
	f.Scope, f.Limit = inventory.Scope{All: true}, inventory.MaxLimit
	var out []T
	for {
		page, err := read(t.Context(), f)
		if err != nil {
			t.Fatalf("%+v: %v", f, err)
		}
		out = append(out, page.Rows...)
		if page.Next == "" {
			return out
		}
		f.Cursor = page.Next
	}
}
