package supervise

import (
	"maps"
	"sync"
	"time"

	"kqueen.io/kqueen/internal/platform/confine"
)

const (
	// starvedAfter is the time over which it is seen whether other programs, and KQueen itself, leave something to those in the background:
	// less than enough of a processor while the processors that they may use are not idle for spare of it. backAgain is the time after which
	// it is tried again.
	starvedAfter = 300 * time.Millisecond
	enough       = 0.25
	spare        = 0.05
	backAgain    = 5 * time.Second
)

// background is what runs in the background now, and for how long it was asked for.
type background struct {
	s       *Supervisor
	how     *confine.Background
	changed chan struct{} // holds 1: there is something new to look at
	said    sync.Once

	mu    sync.Mutex
	until map[string]time.Time // by the id of a workload
	not   time.Time            // it is not done before

	// ---- of the goroutine that looks at the processors ----
	active bool
	put    map[string]bool // workloads that are in the background
	seen   seen
}

// seen is what was known of processors at a time.
type seen struct {
	at   time.Time
	host hostTime // of the processors of the background
	used uint64   // ticks of all that is in the background but KQueen
}

// Background has what a workload needs run in the background for a time, or no longer when that is 0: its own programs, those of workloads that
// are there for KQueen alone, and KQueen. Programs that start meanwhile are there, too. It is for work that other workloads are not to feel. A
// call takes the place of the one before. It has no effect while other programs leave KQueen nothing.
func (s *Supervisor) Background(id string, long time.Duration) {
	b := &s.background
	b.mu.Lock()
	defer b.mu.Unlock()
	if long > 0 {
		b.until[id] = time.Now().Add(long)
	} else {
		delete(b.until, id)
	}
	b.poke()
}

// poke asks for a look soon.
func (b *background) poke() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// wanted are the workloads for which that is asked now.
func (b *background) wanted(now time.Time) map[string]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.until, func(_ string, until time.Time) bool { return !now.Before(until) })
	if now.Before(b.not) {
		return nil
	}
	want := map[string]bool{}
	for id := range b.until {
		want[id] = true
	}
	return want
}

// starves says whether other programs left too little to these since what was seen before. It is pure.
func (before seen) starves(now seen) bool {
	if before.at.IsZero() || now.used < before.used { // a program has ended
		return false
	}
	took := float64(now.used-before.used) / ticks / now.at.Sub(before.at).Seconds()
	return took < enough && now.host.busy(before.host) > 1-spare
}

// watch notes when others leave too little.
func (b *background) watch(now time.Time) {
	if now.Sub(b.seen.at) < starvedAfter {
		return
	}
	is := seen{at: now}
	host, err := readHostTime(b.how.Has)
	if err != nil {
		b.unable(err)
	}
	is.host = host
	for id, wl := range allOf(b.s) {
		if !b.put[id] {
			continue
		}
		for _, pid := range wl.processes() {
			if st, err := readStat(pid); err == nil {
				is.used += st.cpu
			}
		}
	}
	if b.s.conf.starves(b.seen, is) {
		b.s.conf.Log.Debug("no longer in the background: other programs leave too little")
		b.mu.Lock()
		b.not = now.Add(backAgain)
		b.mu.Unlock()
	}
	b.seen = is
}

// look puts into the background what is to be there, programs included that were started since the last look, and takes back the rest.
func (b *background) look(now time.Time) {
	if b.active {
		b.watch(now)
	}
	want := b.wanted(now)
	if len(want) == 0 {
		if b.active {
			b.leave()
		}
		return
	}
	put := map[string]bool{}
	for id, wl := range allOf(b.s) {
		if put[id] = want[id] || wl.isManagement(); put[id] || b.put[id] {
			b.place(wl, put[id])
		}
	}
	b.active, b.put = true, put
	b.placeSelf(true)
}

// leave takes all back, also what an earlier supervisor has left there.
func (b *background) leave() {
	for _, wl := range allOf(b.s) {
		b.place(wl, false)
	}
	if b.active {
		b.placeSelf(false)
	}
	b.active, b.put, b.seen = false, nil, seen{}
}

func (b *background) placeSelf(so bool) {
	if err := b.s.conf.putSelf(so); err != nil {
		b.unable(err)
	}
}

// unable says once what this host does not let KQueen do.
func (b *background) unable(err error) {
	b.said.Do(func() { b.s.conf.Log.Warn("what is to run in the background does not, or in part", "error", err) })
}

func (wl *workload) isManagement() bool {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	return wl.management
}

// place puts the programs of a workload that run into the background, or takes them back.
func (b *background) place(wl *workload, so bool) {
	wl.mu.Lock()
	wl.background = so
	behind := so || wl.behind
	var limits *confine.Limits
	for _, k := range wl.keepers {
		if k.want.limits != nil {
			limits = k.want.limits
		}
	}
	wl.mu.Unlock()
	if limits != nil {
		if err := b.s.group(wl.id).PutBehind(behind, *limits); err != nil {
			b.unable(err)
		}
	}
	for _, pid := range wl.processes() {
		if err := b.how.Put(pid, so); err != nil {
			b.unable(err)
		}
	}
}

// processes are those of the workload that run.
func (wl *workload) processes() (pids []int) {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	for _, k := range wl.keepers {
		if k.status.PID != 0 {
			pids = append(pids, k.status.PID)
		}
	}
	return pids
}

func (wl *workload) inBackground() bool {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	return wl.background
}
