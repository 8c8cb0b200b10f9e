package supervise

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/osthread"
)

// ConfinementComplete is Status.Confinement where all is in effect that Workload.Confined means.
const ConfinementComplete = "complete"

// confine has the orders of a workload run confined, where the host lets us. The caller may change the workload.
func (s *Supervisor) confine(wl *workload, w Workload, orders map[string]order) (files map[string]File, err error) {
	say := func(text string) {
		wl.mu.Lock()
		defer wl.mu.Unlock()
		wl.confinement = text
	}
	if !w.Confined {
		say("")
		if w.Limits != (confine.Limits{}) && s.users.unable() == "" {
			limit(orders, w.Limits)
		}
		return w.Files, nil
	}
	if reason := s.users.unable(); reason != "" {
		say("none: " + reason)
		return w.Files, nil
	}
	user, err := s.users.take(wl.id, wl.dir)
	if err != nil {
		return nil, err
	}
	limit(orders, w.Limits)
	for name, o := range orders {
		o.user, o.spec = user, confinedSpec(o.spec, user)
		if o.byPath != "" {
			o.byPath = confinedSpec(o.byPath, user)
		}
		orders[name] = o
	}
	say(ConfinementComplete)
	s.wallIn(wl, user, w.Reach)
	files = make(map[string]File, len(w.Files))
	for name, f := range w.Files {
		f.group = user
		files[name] = f
	}
	return files, nil
}

// limit has the programs of orders run with limits.
func limit(orders map[string]order, l confine.Limits) {
	for name, o := range orders {
		o.limits = &l
		orders[name] = o
	}
}

// wallIn limits the connections of a workload's user, before its programs start. A failure keeps none from running; the
// status says it. The caller may change the workload.
func (s *Supervisor) wallIn(wl *workload, user int, reach []netip.AddrPort) {
	err := s.raise(wl, user, reach)
	wl.mu.Lock()
	defer wl.mu.Unlock()
	wl.unwalled = ""
	if err != nil {
		wl.unwalled = err.Error()
		s.conf.Log.Warn("without limits of connections", "workload", wl.id, "error", err)
	}
}

func (s *Supervisor) raise(wl *workload, user int, reach []netip.AddrPort) error {
	wall := s.wall(wl.id)
	if reach == nil {
		wl.walled = ""
		return wall.Lower()
	}
	ports := slices.Sorted(maps.Values(s.ports.of(wl.id)))
	rules := fmt.Sprint(user, ports, reach)
	if rules == wl.walled {
		if there, err := wall.Stands(); err == nil && there {
			return nil
		}
	}
	if err := wall.Raise(user, ports, reach); err != nil {
		return err
	}
	wl.walled = rules
	return nil
}

func (s *Supervisor) wall(id string) confine.Wall { return confine.NewWall(s.instance[:12] + "-" + id) }

// confinedSpec is the identity of a component that runs under a user. Limits are none of it: they are changed while it
// runs.
func confinedSpec(spec string, user int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s confined to %d", spec, user))
	return hex.EncodeToString(sum[:16])
}

// confine prepares a start as ordered.
func (o order) confine(l *launch) error {
	if o.user == 0 {
		return nil
	}
	if err := confine.Share(l.path); err != nil {
		return err
	}
	writes := o.comp.writes(l.dir)
	for _, folder := range writes {
		if err := confine.Give(folder, o.user); err != nil {
			return err
		}
	}
	l.user = o.user
	l.confined = &confine.Program{Path: l.path, Dir: l.dir, Writes: writes}
	return nil
}

// writes are the paths of the folders in which the program writes when it runs in dir.
func (c Component) writes(dir string) []string {
	var all []string
	for _, folder := range c.Writes {
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		all = append(all, folder)
	}
	return all
}

// executeHere starts the program from a thread that ends with it: out of the background, where we may be, and confined under its user where
// it is to be.
func executeHere(l launch, argv []string, attr *syscall.ProcAttr) (int, error) {
	if l.confined != nil {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(l.user), Gid: uint32(l.user)}
	}
	type started struct {
		pid int
		err error
	}
	answer := make(chan started, 1)
	osthread.Spend(func() {
		var s started
		if l.leave != nil {
			_ = l.leave() // the processors may have been taken from KQueen
		}
		if l.confined != nil {
			s.err = l.confined.Enter()
		}
		if s.err == nil {
			s.pid, _, s.err = syscall.StartProcess(l.path, argv, attr)
		}
		answer <- s
	})
	a := <-answer
	return a.pid, a.err
}

// spend takes from a process that was just started the place that it has inherited from us, when the kernel is to end us
// last. It may choose another one itself.
func (k *keeper) spend(p *proc) {
	if err := confine.Usual(p.pid); err != nil {
		k.s.conf.Log.Warn("it is kept as KQueen is when memory runs out", "workload", k.wl.id, "component", k.name, "error", err)
	}
}

// settle gives the process what can be given to one that runs: its limits, how soon it comes to a processor, and its place among those that go
// when memory runs out. A failure keeps no program from running; the status says it.
func (k *keeper) settle(o order) {
	var err error
	if o.score != 0 {
		err = confine.Score(k.proc.pid, o.score)
	}
	if o.user != 0 {
		err = errors.Join(err, confine.Bound(k.proc.pid))
	}
	if o.limits != nil {
		err = errors.Join(err, k.s.group(k.wl.id).Hold(k.proc.pid, k.wl.limitsNow(*o.limits)))
	}
	if o.comp.LatencySensitive {
		err = errors.Join(err, confine.ShortenSlices(k.proc.pid))
	}
	if k.wl.inBackground() {
		k.s.background.poke()
	}
	text := ""
	if err != nil {
		text = strings.ReplaceAll(err.Error(), "\n", "; ")
	}
	k.wl.mu.Lock()
	before := k.unsettled
	k.unsettled = text
	k.wl.mu.Unlock()
	if text != "" && text != before {
		k.s.conf.Log.Warn("without limits", "workload", k.wl.id, "component", k.name, "error", text)
	}
}

// group is the cgroup of a workload. Those of two supervisors of one host have different names.
func (s *Supervisor) group(id string) confine.Group {
	return confine.NewGroup(s.instance[:12] + "-" + id)
}

// unconfine removes what the host has for a workload of which nothing runs any more. What stays does no harm: a cgroup is
// empty, and rules are about a user under which nothing runs. The caller may change the workload.
func (s *Supervisor) unconfine(ctx context.Context, wl *workload) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	wl.walled = ""
	if err := errors.Join(s.group(wl.id).Release(ctx), s.wall(wl.id).Lower()); err != nil {
		s.conf.Log.Warn("what has confined a workload is left", "workload", wl.id, "error", err)
	}
}

// confined says in words how far the workload's programs are confined. The caller holds wl.mu.
func (wl *workload) confined() string {
	if wl.confinement != ConfinementComplete {
		return wl.confinement
	}
	if wl.unwalled != "" {
		return "without limits of connections: " + wl.unwalled
	}
	for _, k := range wl.keepers {
		if k.unsettled != "" {
			return "without limits: " + k.unsettled
		}
	}
	return wl.confinement
}
