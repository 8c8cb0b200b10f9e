package supervise

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/health"
)

// order is what a keeper was told to make true.
type order struct {
	kind   orderKind
	rev    int           // grows with each order
	comp   Component     // what to run
	spec   string        // its identity
	byPath string        // its identity by the path of its program, where spec is by its build
	ports  []int         // the ports it binds
	grace  time.Duration // between SIGTERM and SIGKILL

	user   int             // under which it runs confined; 0: it runs as we do
	limits *confine.Limits // nil: none
	score  int             // see Workload.Score
}

type orderKind int

const (
	orderWatch orderKind = iota // adopted, not described yet: only look
	orderRun
	orderStop
)

// keeper keeps one component as its order says. One goroutine (run) owns all fields below the line; it looks at the
// facts after every event and takes the one next step, so no event can come at a wrong moment.
type keeper struct {
	s      *Supervisor
	wl     *workload
	name   string
	wake   chan struct{}   // holds 1: there is something new to look at
	done   chan struct{}   // closed when run has returned
	want   order           // guarded by wl.mu
	status ComponentStatus // guarded by wl.mu
	ran    string          // identity of what status speaks of; guarded by wl.mu
	start  uint64          // start time of status.PID; guarded by wl.mu

	unsettled string // why the process is without its limits; guarded by wl.mu

	// ---- owned by run ----
	rev      int // of the order last looked at
	spec     string
	proc     *proc
	parting  parting      // whose place proc takes
	state    health.State // of proc: Adopted, Starting, Ready or NotReady
	served   bool         // proc has been ready, or may have been in an earlier life
	termAt   time.Time    // SIGTERM was sent; the coming exit is wanted
	killed   bool         // SIGKILL was sent
	failures int          // unwanted ends in a row
	nextTry  time.Time
	last     *health.Exit
	reason   string // why the last start failed
	crashed  bool   // the next start is a restart
	restarts int
	queued   bool // waits for its turn to start

	client     *http.Client // only while starting
	answer     chan error   // of the probe under way, or nil
	stopProbe  context.CancelFunc
	said       string // what the last probe said
	nextProbe  time.Time
	misses     int // failed probes in a row
	silence    silence
	hung       time.Duration // for how long proc was silent when it was given up; 0 while it is not
	hungAt     time.Time
	readySince time.Time
	nextRotate time.Time
	due        time.Time // when to look again without an event
}

func newKeeper(s *Supervisor, wl *workload, name string) *keeper {
	return &keeper{s: s, wl: wl, name: name, wake: make(chan struct{}, 1), done: make(chan struct{}),
		status: ComponentStatus{Component: health.Component{Name: name, State: health.Waiting}}}
}

func (k *keeper) poke() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// run supervises until ctx ends, which leaves the process alone, or until the component is stopped as ordered.
func (k *keeper) run(ctx context.Context) {
	defer close(k.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		var gone chan struct{}
		if k.proc != nil {
			gone = k.proc.done
		}
		select {
		case <-ctx.Done():
			k.drop()
			k.parting.drop()
			k.s.turns.give(k)
			return
		case <-gone:
			k.onExit()
		case err := <-k.answer:
			k.onProbe(err)
		case <-k.wake:
		case <-timer.C:
		}
		if k.step(ctx) {
			return
		}
		timer.Reset(time.Until(k.due))
	}
}

// at asks for a look at t, if none is due earlier.
func (k *keeper) at(t time.Time) {
	if t.Before(k.due) {
		k.due = t
	}
}

// step compares the order with the facts and does the next thing. It returns true when the component is stopped and
// forgotten.
func (k *keeper) step(ctx context.Context) bool {
	k.wl.mu.Lock()
	o := k.want
	k.wl.mu.Unlock()
	if o.rev != k.rev {
		k.adjust(o)
	}
	k.due = time.Now().Add(time.Hour)
	k.queued = false
	state, message := k.act(ctx, o)
	k.parting.look(k, o)
	// A start that takes very long must not hold up all others.
	if !k.queued && (state != health.Starting || time.Since(k.proc.startedAt) > k.s.conf.Timing.FastStart) {
		k.s.turns.give(k)
	}
	if o.kind == orderStop && k.proc == nil && len(k.parting) == 0 {
		return k.retire(o)
	}
	k.rotate()
	k.publish(state, cmp.Or(message, k.parting.String()))
	return false
}

// adjust takes note of a new order. A new identity gets a fresh start.
func (k *keeper) adjust(o order) {
	k.rev = o.rev
	k.client = nil // its files may have changed
	if o.spec != k.spec {
		k.spec, k.failures, k.nextTry, k.reason, k.last = o.spec, 0, time.Time{}, "", nil
	}
	if k.proc != nil && k.state == StateAdopted && o.kind == orderRun {
		k.state = health.Starting
		k.proc.spec = buildOf(k, o)
	}
	if k.proc != nil && o.kind == orderRun && k.proc.spec == o.spec {
		k.settle(o)
	}
}

func (k *keeper) act(ctx context.Context, o order) (health.State, string) {
	switch {
	case o.kind == orderWatch && k.proc != nil:
		return StateAdopted, "found running, not described yet"
	case o.kind == orderWatch:
		return StateExited, "ended before it was described"
	case k.proc == nil && o.kind == orderStop:
		return health.Stopping, ""
	case k.proc == nil && k.parting.back(o.spec) != nil:
		k.parting.takeBack(k, k.parting.back(o.spec))
		return k.tend(ctx, o)
	case k.proc == nil:
		return k.begin(ctx, o)
	case k.proc.spec != o.spec && mayPart(k, o):
		k.forgetProbe()
		k.parting.add(k, k.proc)
		k.proc = nil
		return k.begin(ctx, o)
	case o.kind == orderStop || k.proc.spec != o.spec || !k.termAt.IsZero():
		return k.end(o.grace)
	case k.hung > 0:
		return k.endHung()
	}
	return k.tend(ctx, o)
}

// begin starts the process when the time has come.
func (k *keeper) begin(ctx context.Context, o order) (health.State, string) {
	if other := k.wl.unready(o.comp.Predecessors()); other != "" {
		return health.Waiting, "for " + other + " to be ready"
	}
	if time.Now().Before(k.nextTry) {
		k.at(k.nextTry)
		return health.Backoff, k.failure()
	}
	// A restart does not queue: its users are waiting.
	if o.comp.Heavy && !k.crashed && !k.s.turns.take(k) {
		k.queued = true
		return health.Waiting, "for its turn to start"
	}
	// Ports of the process whose place this one takes are handed over.
	if port := firstTaken(ctx, k.s.conf.Listen, o.ports); port != 0 && len(k.parting) == 0 && !offered(ctx, k.wl.dir, o.comp) {
		return k.fail(health.ReasonPortTaken, fmt.Errorf("port %d is in use by another process of this host", port))
	}
	l := launch{path: o.comp.Path, args: o.comp.Args, log: k.log(), spec: o.spec}
	l.handing, l.leave = o.comp.handsOver(), k.s.background.how.Leave
	l.within, l.dir = k.wl.within(o.comp)
	l.env = k.s.environ(l.dir, k.wl.id, k.name, o)
	err := o.confine(&l)
	var p *proc
	if err == nil {
		p, err = start(l)
	}
	if err != nil {
		return k.fail(health.ReasonStartFailed, err)
	}
	k.reason = ""
	if k.crashed {
		k.restarts++
	}
	k.s.conf.Log.Info("started", "workload", k.wl.id, "component", k.name, "pid", p.pid, "restarts", k.restarts)
	k.hold(p, health.Starting)
	if o.score == 0 {
		k.spend(p)
	}
	k.settle(o)
	return k.tend(ctx, o)
}

// offered says whether something else offers the port that the process of a component in a directory takes over.
func offered(ctx context.Context, dir string, c Component) bool {
	return c.HandsOver != 0 && c.TakesIn != "" && handover.Offered(ctx, filepath.Join(dir, c.TakesIn), c.Hands)
}

// hold makes p the process of this keeper.
func (k *keeper) hold(p *proc, state health.State) {
	k.proc, k.state, k.served = p, state, state == StateAdopted
	k.termAt, k.killed, k.crashed = time.Time{}, false, false
	k.misses, k.said, k.readySince, k.nextProbe = 0, "", time.Time{}, time.Time{}
	k.silence, k.hung = silence{}, 0
}

// fail notes that a start was not possible.
func (k *keeper) fail(reason string, err error) (health.State, string) {
	k.reason = reason
	k.last = &health.Exit{At: time.Now(), Code: -1, Error: err.Error(), Log: tail(k.log(), logTail)}
	k.later()
	k.at(k.nextTry)
	return health.Backoff, k.failure()
}

func (k *keeper) failure() string {
	switch {
	case k.last == nil:
		return ""
	case k.last.Error != "":
		return k.last.Error
	case k.last.Hung > 0:
		return fmt.Sprintf("hung: its probe had no answer for %v", k.last.Hung.Round(time.Second))
	case k.last.Signal != "":
		return "ended by signal: " + k.last.Signal
	case k.last.Code < 0:
		return "ended, it is not known how"
	}
	return fmt.Sprintf("ended with code %d", k.last.Code)
}

// later sets the next retry after one more failure.
func (k *keeper) later() {
	k.nextTry = time.Now().Add(k.s.conf.Timing.backoff(k.failures))
	k.failures++
}

// backoff is the wait after the given number of earlier failures in a row: none before the first restart, then doubling
// up to the maximum.
func (t Timing) backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	d := t.BackoffFirst
	for range failures - 1 {
		if d >= t.BackoffMax {
			break
		}
		d *= 2
	}
	return min(d, t.BackoffMax)
}

// end stops the process: SIGTERM now, SIGKILL when grace has passed. It is called again and again and looks at the clock,
// so a later order may shorten grace.
func (k *keeper) end(grace time.Duration) (health.State, string) {
	now := time.Now()
	k.forgetProbe()
	if k.termAt.IsZero() {
		k.termAt = now
		if grace > 0 {
			k.send(unix.SIGTERM)
		}
	}
	deadline := k.termAt.Add(grace)
	if !k.killed && !now.Before(deadline) {
		k.killed = true
		k.send(unix.SIGKILL)
	}
	if k.killed {
		return health.Stopping, "killed, waiting for the kernel"
	}
	k.at(deadline)
	return health.Stopping, "was asked to end"
}

func (k *keeper) send(sig unix.Signal) {
	if err := k.proc.signal(sig); err != nil {
		k.s.conf.Log.Error("signal not sent", "workload", k.wl.id, "component", k.name, "signal", sig.String(), "error", err)
	}
}

// onExit takes note that the process is gone.
func (k *keeper) onExit() {
	p, wanted := k.proc, !k.termAt.IsZero()
	k.drop()
	if wanted {
		k.failures, k.nextTry = 0, time.Time{}
		return
	}
	if !k.readySince.IsZero() && time.Since(k.readySince) >= k.s.conf.Timing.BackoffReset {
		k.failures = 0
	}
	k.crashed = true
	k.last = &health.Exit{At: p.end.at, Code: p.end.code, Signal: p.end.signal, Hung: k.hung, Log: tail(k.log(), logTail)}
	k.later()
	k.s.conf.Log.Warn("ended", "workload", k.wl.id, "component", k.name, "pid", p.pid, "how", k.failure())
}

// drop lets go of the process and of all that was about it.
func (k *keeper) drop() {
	k.forgetProbe()
	if k.proc != nil {
		k.proc.release()
		k.proc = nil
	}
}

// retire ends the keeper of a stopped component, unless it was ordered to run again meanwhile.
func (k *keeper) retire(o order) bool {
	k.wl.mu.Lock()
	over := k.want.rev == o.rev
	if over {
		delete(k.wl.keepers, k.name)
	}
	k.wl.mu.Unlock()
	if !over {
		k.poke()
		return false
	}
	k.wl.pokeOthers(k)
	k.s.conf.Notify(k.wl.id)
	return true
}

// publish shows what is true to Status, and tells those who wait for a change.
func (k *keeper) publish(state health.State, message string) {
	s := ComponentStatus{Component: health.Component{Name: k.name, State: state, Message: message, Restarts: k.restarts, LastExit: k.last, Leaving: len(k.parting)}}
	ran, start := "", uint64(0)
	if k.proc != nil {
		s.PID, s.StartedAt, ran, start = k.proc.pid, k.proc.startedAt, k.proc.spec, k.proc.start
	}
	if state == health.Backoff {
		s.Reason, s.NextStart = k.reason, k.nextTry
	}
	k.wl.mu.Lock()
	old := k.status
	k.status, k.ran, k.start = s, ran, start
	k.wl.mu.Unlock()
	if old.State != s.State || old.PID != s.PID || old.Restarts != s.Restarts || old.NextStart != s.NextStart || old.Leaving != s.Leaving {
		k.wl.pokeOthers(k)
		k.s.conf.Notify(k.wl.id)
	}
}

func (k *keeper) log() string {
	return filepath.Join(k.wl.dir, LogDir, k.name+".log")
}

func (k *keeper) rotate() {
	now := time.Now()
	if k.proc == nil {
		return
	}
	if !now.Before(k.nextRotate) {
		k.nextRotate = now.Add(k.s.conf.Rotate.Every)
		if err := k.s.conf.Rotate.rotate(k.log()); err != nil {
			k.s.conf.Log.Error("log not rotated", "workload", k.wl.id, "component", k.name, "error", err)
		}
	}
	k.at(k.nextRotate)
}
