package supervise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Reserve makes the workload's directory and reserves a TCP port for each name. The answer is durable and the same on
// every call, until Remove: it also holds ports reserved under other names before. No port is handed out to two
// workloads. Ports belong to the host, so the supervisor owns them.
func (s *Supervisor) Reserve(ctx context.Context, id string, ports []string) (Place, error) {
	for _, name := range ports {
		if err := CheckName("ports", name); err != nil {
			return Place{}, err
		}
	}
	wl, leave, err := s.enter(ctx, id)
	if err != nil {
		return Place{}, err
	}
	defer leave()
	if err := os.MkdirAll(wl.dir, 0o700); err != nil {
		return Place{}, fmt.Errorf("make workload directory: %w", err)
	}
	held, err := s.ports.reserve(ctx, id, wl.dir, ports)
	if err != nil {
		return Place{}, err
	}
	return Place{Dir: wl.dir, Addr: s.conf.Listen, Port: held}, nil
}

// Apply makes the workload what w says and returns without waiting for programs: changed files are written, missing
// components started, changed ones restarted (SIGTERM, StopGrace, SIGKILL), those no longer listed stopped. Files no
// longer listed stay. Watch Status for the outcome. A bad description is an [*invalid.Error] and changes nothing.
func (s *Supervisor) Apply(ctx context.Context, w Workload) error {
	if err := w.Validate(); err != nil {
		return err
	}
	wl, leave, err := s.enter(ctx, w.ID)
	if err != nil {
		return err
	}
	defer leave()
	orders, err := s.orders(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(wl.dir, LogDir), 0o700); err != nil {
		return fmt.Errorf("make workload directory: %w", err)
	}
	if err := keepSubject(wl.dir, w.Subject); err != nil { // programs start also where a disk is full
		s.conf.Log.Warn("keep what a workload is to users", "workload", w.ID, "error", err)
	}
	files, err := s.confine(wl, w, orders)
	if err != nil {
		return fmt.Errorf("confine %s: %w", w.ID, err)
	}
	if err := writeFiles(ctx, wl.dir, files); err != nil {
		return fmt.Errorf("write files of %s: %w", w.ID, err)
	}
	return s.give(wl, orders, w.Management)
}

// orders turns the description into an order for each component, by name.
func (s *Supervisor) orders(w Workload) (map[string]order, error) {
	held := s.ports.of(w.ID)
	orders := make(map[string]order, len(w.Components))
	for _, c := range w.Components {
		o := order{kind: orderRun, comp: c, spec: specOf(c, w.Files), byPath: specByPath(c, w.Files), grace: s.graceOf(c), score: w.Score}
		for _, name := range c.Ports {
			p, ok := held[name]
			if !ok {
				return nil, &invalid.Error{
					Field:   fmt.Sprintf("components[%s].ports", c.Name),
					Problem: fmt.Sprintf("%q is not reserved; call Reserve with it first", name),
				}
			}
			o.ports = append(o.ports, p)
		}
		orders[c.Name] = o
	}
	return orders, nil
}

// give hands out the orders, all at once: a keeper that looks at its siblings sees either none or all of them.
func (s *Supervisor) give(wl *workload, orders map[string]order, management bool) error {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	wl.management = management
	var fresh []*keeper
	for name, o := range orders {
		k := wl.keepers[name]
		if k == nil {
			k = newKeeper(s, wl, name)
			fresh = append(fresh, k)
		}
		k.tell(o)
	}
	for name, k := range wl.keepers {
		if _, listed := orders[name]; !listed && k.want.kind != orderStop {
			k.tell(order{kind: orderStop, grace: k.grace()})
		}
	}
	for _, k := range fresh {
		if err := s.spawn(wl, k); err != nil {
			return err
		}
	}
	return nil
}

// grace is how long the component may take to end, by its last description. The caller holds wl.mu.
func (k *keeper) grace() time.Duration {
	if k.want.kind == orderWatch {
		return k.s.conf.Timing.StopGrace
	}
	return k.want.grace
}

// Stop ends all processes of a workload, each with its own StopGrace, and keeps directory and ports. It returns when
// they are gone, or the cause when ctx ends first; the stopping goes on then. Apply starts them again.
func (s *Supervisor) Stop(ctx context.Context, id string) error {
	wl, leave, err := s.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.stop(ctx, wl, (*keeper).grace); err != nil {
		return fmt.Errorf("stop %s: %w", id, err)
	}
	return nil
}

// stop ends all keepers with their processes, and then whatever else carries the workload's marks.
func (s *Supervisor) stop(ctx context.Context, wl *workload, grace func(*keeper) time.Duration) error {
	wl.mu.Lock()
	var waits []*keeper
	for _, k := range wl.keepers {
		k.tell(order{kind: orderStop, grace: grace(k)})
		waits = append(waits, k)
	}
	wl.mu.Unlock()
	for _, k := range waits {
		select {
		case <-k.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.ctx.Err() != nil { // Close let the keepers go, the processes are there
		return ErrClosed
	}
	if err := sweep(ctx, s.instance, wl.id, s.users.ours); err != nil {
		return err
	}
	s.unconfine(ctx, wl)
	return nil
}

// Remove stops the workload (SIGTERM, at most grace, SIGKILL; 0 kills at once), then deletes its directory and its
// ports. gone is true only when no process and no file is left; an unknown id is gone. When ctx ends first it returns
// false and the cause; the stopping goes on.
func (s *Supervisor) Remove(ctx context.Context, id string, grace time.Duration) (bool, error) {
	if grace < 0 {
		return false, invalid.New("grace", "is negative; want 0 or more")
	}
	wl, leave, err := s.enter(ctx, id)
	if err != nil {
		return false, err
	}
	defer leave()
	if err := s.stop(ctx, wl, func(*keeper) time.Duration { return grace }); err != nil {
		return false, fmt.Errorf("remove %s: %w", id, err)
	}
	// No program writes here any more. The ports are free once their file is gone, not earlier: a crash in between must
	// not give them to two workloads.
	if err := os.RemoveAll(wl.dir); err != nil {
		return false, fmt.Errorf("remove %s: %w", id, err)
	}
	s.ports.release(id)
	s.users.release(id)
	s.mu.Lock()
	delete(s.workloads, id)
	s.mu.Unlock()
	return true, nil
}
