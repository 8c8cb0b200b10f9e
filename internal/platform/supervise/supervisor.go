package supervise

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
)

// Supervisor runs workloads as processes of this host. Make it with New.
type Supervisor struct {
	conf     Config
	instance string // mark of this supervisor's processes
	lock     *os.File
	ports    *portBook
	users    *userBook
	turns    *turns

	background background

	ctx     context.Context // ends with Close; the life of the keepers
	cancel  context.CancelFunc
	keepers sync.WaitGroup
	changes sync.WaitGroup // calls between enter and leave

	mu        sync.Mutex
	closed    bool
	workloads map[string]*workload
}

// New makes the supervisor of conf.Dir and adopts the processes an earlier one left: they run on, in state Adopted,
// until Apply describes their workload. It returns a [*LockedError] while another supervisor uses the directory.
func New(conf Config) (*Supervisor, error) {
	conf, err := conf.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Join(conf.Dir, "workloads"), 0o700); err != nil {
		return nil, fmt.Errorf("make the supervisor's directory: %w", err)
	}
	if conf.Dir, err = filepath.EvalSymlinks(conf.Dir); err != nil { // one directory, one name
		return nil, fmt.Errorf("resolve the supervisor's directory: %w", err)
	}
	// The supervisor's life is its own: it ends by Close, not with the caller that made it.
	ctx, cancel := context.WithCancel(context.Background())
	s := &Supervisor{conf: conf, instance: instanceOf(conf.Dir), ctx: ctx, cancel: cancel, workloads: map[string]*workload{}, turns: newTurns(conf.StartsAtOnce)}
	s.background.s, s.background.changed, s.background.until = s, make(chan struct{}, 1), map[string]time.Time{}
	if s.background.how, err = confine.NewBackground(); err != nil {
		cancel()
		return nil, err
	}
	if conf.putSelf == nil {
		s.conf.putSelf = func(background bool) error { return s.background.how.Put(os.Getpid(), background) }
	}
	if conf.starves == nil {
		s.conf.starves = seen.starves
	}
	wait, stop := context.WithTimeout(ctx, conf.Timing.LockWait)
	defer stop()
	if s.lock, err = takeLock(wait, conf.Dir); err != nil {
		cancel()
		return nil, err
	}
	if s.ports, err = loadPorts(ctx, conf); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if s.users, err = loadUsers(conf); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	if err := s.adoptAll(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("adopt running processes: %w", err), s.Close())
	}
	s.background.leave()
	s.keepers.Go(func() { s.balance(ctx) })
	return s, nil
}

// isGone reports an error that only says the process ended meanwhile.
func isGone(err error) bool {
	return errors.Is(err, unix.ESRCH) || errors.Is(err, fs.ErrNotExist)
}

// workload returns the record of id, made when missing.
func (s *Supervisor) workload(id string) *workload {
	s.mu.Lock()
	defer s.mu.Unlock()
	wl := s.workloads[id]
	if wl == nil {
		wl = &workload{id: id, dir: s.Dir(id), op: make(chan struct{}, 1), keepers: map[string]*keeper{}}
		s.workloads[id] = wl
	}
	return wl
}

// enter gives the caller the right to change a workload, until it calls leave.
func (s *Supervisor) enter(ctx context.Context, id string) (wl *workload, leave func(), err error) {
	if err := CheckName("id", id); err != nil {
		return nil, nil, err
	}
	for {
		wl := s.workload(id)
		select {
		case wl.op <- struct{}{}:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, nil, ErrClosed
		}
		s.mu.Lock()
		current, closed := s.workloads[id] == wl, s.closed
		if current && !closed {
			s.changes.Add(1) // under mu, so that Close either waits for us or we see it
		}
		s.mu.Unlock()
		if current && !closed {
			return wl, func() { <-wl.op; s.changes.Done() }, nil
		}
		<-wl.op // removed while we waited
		if closed {
			return nil, nil, ErrClosed
		}
	}
}

// spawn starts a keeper and lists it. The caller holds wl.mu.
func (s *Supervisor) spawn(wl *workload, k *keeper) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	wl.keepers[k.name] = k
	s.keepers.Go(func() { k.run(s.ctx) })
	return nil
}

// environ is the whole environment of a component. PATH is a constant, so that a program finds the same tools whichever
// user started KQueen.
func (s *Supervisor) environ(home, workload, component string, o order) []string {
	env := []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + home}
	env = append(env, o.comp.Env...)
	is := marks{instance: s.instance, workload: workload, component: component, spec: o.spec}
	is.handing = o.comp.handsOver()
	return append(env, is.environ()...)
}

// Close stops supervising and leaves all processes running, for the next supervisor of the directory. It waits for
// calls under way, of which stopping ones end with ErrClosed. It is idempotent.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.keepers.Wait()
	s.changes.Wait()
	if s.ports != nil {
		s.ports.close()
	}
	// Last: the process that gets the lock may adopt, so no other may be supervising.
	return s.lock.Close()
}

// List names every workload that has a directory or a process, sorted. The caller compares it with its records to find
// orphans.
func (s *Supervisor) List(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Join(s.conf.Dir, "workloads"))
	if err != nil {
		return nil, fmt.Errorf("list workloads: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() && CheckName("id", e.Name()) == nil {
			ids = append(ids, e.Name())
		}
	}
	marked, _, err := scan(s.instance)
	if err != nil {
		return nil, err
	}
	for _, f := range s.users.ours(marked) {
		ids = append(ids, f.workload)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Status tells what runs now. An unknown id has no components.
func (s *Supervisor) Status(ctx context.Context, id string) (Status, error) {
	if err := cmp.Or(ctx.Err(), CheckName("id", id)); err != nil {
		return Status{}, err
	}
	s.mu.Lock()
	wl, closed := s.workloads[id], s.closed
	s.mu.Unlock()
	if closed {
		return Status{}, ErrClosed
	}
	out := Status{Subject: SubjectOf(s.Dir(id))}
	if wl == nil {
		return out, nil
	}
	starts := map[string]uint64{}
	wl.mu.Lock()
	out.Confinement = wl.confined()
	for name, k := range wl.keepers {
		c := k.status
		// The keeper has not taken its new order yet: what runs is not what was described last.
		if k.want.kind == orderRun && k.want.spec != k.ran && c.State == health.Ready {
			c.State = health.Stopping
		}
		out.Components, starts[name] = append(out.Components, c), k.start
	}
	wl.mu.Unlock()
	for i := range out.Components {
		c := &out.Components[i]
		if c.PID != 0 {
			c.Use = readUse(c.PID, starts[c.Name])
		}
		if c.LastExit != nil { // the keeper's own; not to be shared
			exit := *c.LastExit
			c.LastExit = &exit
		}
	}
	slices.SortFunc(out.Components, func(a, b ComponentStatus) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// graceOf is the component's own stop grace, or the default.
func (s *Supervisor) graceOf(c Component) time.Duration {
	return cmp.Or(c.StopGrace, s.conf.Timing.StopGrace)
}
