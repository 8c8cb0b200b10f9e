package supervise

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/health"
)

// parting are the processes of a component whose place another one takes, or has taken: see Component.HandsOver. They belong to its
// keeper.
type parting []*leaver

// leaver serves on until the other one is ready, and then ends when it carries nothing more.
type leaver struct {
	*proc
	until   time.Time // when it is killed; zero until it is told to leave or to end
	stopped bool      // it was told to end, and not only to leave
	killed  bool

	answer    chan error // of the probe under way, or nil
	nextProbe time.Time
	silence   silence
}

// mayPart says whether another process can take the place of a keeper's while that runs. One that hangs gives nothing to another, and one
// that has never been ready has nothing to give: it does not offer its port yet.
func mayPart(k *keeper, o order) bool {
	return o.kind == orderRun && k.served && k.proc.beside(o.comp.handsOver()) && k.termAt.IsZero() && k.hung == 0 && k.parting.back(o.spec) == nil
}

// beside says whether a process can run beside the one that it takes the place of: either knows how, and neither wants a port of the
// other one that it does not get. It is pure.
func (h handing) beside(next handing) bool {
	return h.leaves > 0 && next.leaves > 0 && h.hands == next.hands && h.probe != next.probe
}

// add has a process leave as soon as there is another one, and its keeper look when it has ended.
func (all *parting) add(k *keeper, p *proc) {
	*all = append(*all, &leaver{proc: p})
	go func() {
		<-p.done
		k.poke()
	}()
}

// ask has a process that still serves answer its probe, and ends one that hangs: it gives nothing to the one that is to take its place, which
// would wait for its port for ever.
func (l *leaver) ask(k *keeper, now time.Time) {
	if l.probe == "" || !l.until.IsZero() {
		return
	}
	t := k.s.conf.Timing
	select {
	case err := <-l.answer:
		l.answer, l.nextProbe = nil, now.Add(t.ProbeReady)
		if quiet := l.silence.note(k, l.proc, now, silent(err)); quiet > 0 {
			l.until = now.Add(t.HangGrace) // then it is killed
			l.tell(k, unix.SIGQUIT)
			return
		}
	default:
	}
	if l.answer == nil && !now.Before(l.nextProbe) {
		answer := make(chan error, 1)
		l.answer = answer
		go func() {
			answer <- ask(k.s.ctx, newLifeClient(t.ProbeTimeout), l.probe)
			k.poke()
		}()
	}
	if l.answer == nil {
		k.at(l.nextProbe)
	}
}

// tell sends a signal.
func (l *leaver) tell(k *keeper, sig unix.Signal) {
	k.s.conf.Log.Info("is told to go", "workload", k.wl.id, "component", k.name, "pid", l.pid, "signal", sig.String())
	if err := l.signal(sig); err != nil {
		k.s.conf.Log.Error("signal not sent", "workload", k.wl.id, "component", k.name, "signal", sig.String(), "error", err)
	}
}

// back is the process with an identity that serves on, because the one in its place never was ready, or nil. It is what the component was,
// and is so again when that identity is wanted again.
func (all *parting) back(spec string) *leaver {
	for _, l := range *all {
		if l.spec == spec && l.until.IsZero() {
			return l
		}
	}
	return nil
}

// takeBack makes a process the one of its keeper again.
func (all *parting) takeBack(k *keeper, l *leaver) {
	*all = slices.DeleteFunc(*all, func(other *leaver) bool { return other == l })
	k.s.conf.Log.Info("stays, because it is wanted again", "workload", k.wl.id, "component", k.name, "pid", l.pid)
	k.reason, k.failures, k.nextTry = "", 0, time.Time{}
	k.hold(l.proc, health.Starting)
	k.served = true
}

// look has each do what is due.
func (all *parting) look(k *keeper, o order) {
	ready := o.kind == orderRun && k.proc != nil && k.proc.spec == o.spec && k.state == health.Ready
	*all = slices.DeleteFunc(*all, func(l *leaver) bool {
		select {
		case <-l.done:
			k.s.conf.Log.Info("ended, and another one is in its place", "workload", k.wl.id, "component", k.name, "pid", l.pid)
			l.release()
			if k.proc == nil && o.kind == orderRun { // its port is free: there is nothing to wait for
				k.nextTry = time.Now()
				k.at(k.nextTry)
			}
			return true
		default:
		}
		l.step(k, o, ready)
		return false
	})
}

// step tells a process to leave when the one in its place is ready, to end when the component is stopped, and kills it when it does
// not in time.
func (l *leaver) step(k *keeper, o order, ready bool) {
	now, sig := time.Now(), unix.Signal(0)
	switch {
	case o.kind == orderStop && !l.stopped:
		l.stopped, l.until, sig = true, now.Add(o.grace), unix.SIGTERM
	case ready && l.until.IsZero():
		l.until, sig = now.Add(l.leaves), handover.Signal
	case !l.until.IsZero() && !l.killed && !now.Before(l.until):
		l.killed, sig = true, unix.SIGKILL
	}
	if sig != 0 {
		l.tell(k, sig)
	}
	l.ask(k, now)
	if !l.until.IsZero() && !l.killed {
		k.at(l.until)
	}
}

// drop lets go of all, which live on.
func (all *parting) drop() {
	for _, l := range *all {
		l.release()
	}
	*all = nil
}

// String says in words for users what goes on, or nothing.
func (all *parting) String() string {
	if len(*all) == 0 {
		return ""
	}
	return fmt.Sprintf("process %d, which was there before, goes on with what it carries", (*all)[0].pid)
}
