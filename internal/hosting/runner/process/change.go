package process

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/hosting/runner"
)

// Reserve implements [runner.Runner].
func (r *Runner) Reserve(ctx context.Context, id string, ports []string) (runner.Place, error) {
	for _, name := range ports {
		if err := runner.CheckName("ports", name); err != nil {
			return runner.Place{}, err
		}
	}
	wl, leave, err := r.enter(ctx, id)
	if err != nil {
		return runner.Place{}, err
	}
	defer leave()
	if err := os.MkdirAll(wl.dir, 0o700); err != nil {
		return runner.Place{}, fmt.Errorf("make workload directory: %w", err)
	}
	held, err := r.ports.reserve(ctx, id, wl.dir, ports)
	if err != nil {
		return runner.Place{}, err
	}
	return runner.Place{Dir: wl.dir, Addr: r.conf.Listen, Port: held}, nil
}

// Apply implements [runner.Runner].
func (r *Runner) Apply(ctx context.Context, w runner.Workload) error {
	if err := w.Validate(); err != nil {
		return err
	}
	wl, leave, err := r.enter(ctx, w.ID)
	if err != nil {
		return err
	}
	defer leave()
	orders, err := r.orders(w)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(wl.dir, runner.LogDir), 0o700); err != nil {
		return fmt.Errorf("make workload directory: %w", err)
	}
	if err := writeFiles(ctx, wl.dir, w.Files); err != nil {
		return fmt.Errorf("write files of %s: %w", w.ID, err)
	}
	return r.give(wl, orders)
}

// orders turns the description into an order for each component, by name.
func (r *Runner) orders(w runner.Workload) (map[string]order, error) {
	held := r.ports.of(w.ID)
	orders := make(map[string]order, len(w.Components))
	for _, c := range w.Components {
		o := order{kind: orderRun, comp: c, spec: specOf(c, w.Files), grace: r.graceOf(c)}
		for _, name := range c.Ports {
			p, ok := held[name]
			if !ok {
				return nil, &runner.InvalidError{
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

// give hands out the orders, all at once: a keeper that looks at its siblings
// sees either none or all of them.
func (r *Runner) give(wl *workload, orders map[string]order) error {
	wl.mu.Lock()
	defer wl.mu.Unlock()
	var fresh []*keeper
	for name, o := range orders {
		k := wl.keepers[name]
		if k == nil {
			k = newKeeper(r, wl, name)
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
		if err := r.spawn(wl, k); err != nil {
			return err
		}
	}
	return nil
}

// grace is how long the component may take to end, by its last description.
// The caller holds wl.mu.
func (k *keeper) grace() time.Duration {
	if k.want.kind == orderWatch {
		return k.r.conf.Timing.StopGrace
	}
	return k.want.grace
}

// Stop ends all processes of a workload, each with its own StopGrace, and keeps
// directory and ports. It returns when they are gone, or the cause when ctx
// ends first; the stopping goes on then. Apply starts them again.
func (r *Runner) Stop(ctx context.Context, id string) error {
	wl, leave, err := r.enter(ctx, id)
	if err != nil {
		return err
	}
	defer leave()
	if err := r.stop(ctx, wl, (*keeper).grace); err != nil {
		return fmt.Errorf("stop %s: %w", id, err)
	}
	return nil
}

// stop ends all keepers with their processes, and then whatever else carries
// the workload's marks.
func (r *Runner) stop(ctx context.Context, wl *workload, grace func(*keeper) time.Duration) error {
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
	if r.ctx.Err() != nil { // Close let the keepers go, the processes are there
		return ErrClosed
	}
	return sweep(ctx, r.instance, wl.id)
}

// Remove implements [runner.Runner].
func (r *Runner) Remove(ctx context.Context, id string, grace time.Duration) (bool, error) {
	if grace < 0 {
		return false, &runner.InvalidError{Field: "grace", Problem: "is negative; want 0 or more"}
	}
	wl, leave, err := r.enter(ctx, id)
	if err != nil {
		return false, err
	}
	defer leave()
	if err := r.stop(ctx, wl, func(*keeper) time.Duration { return grace }); err != nil {
		return false, fmt.Errorf("remove %s: %w", id, err)
	}
	// Nobody writes here any more. The ports are free once their file is gone,
	// not earlier: a crash in between must not give them to two workloads.
	if err := os.RemoveAll(wl.dir); err != nil {
		return false, fmt.Errorf("remove %s: %w", id, err)
	}
	r.ports.release(id)
	r.mu.Lock()
	delete(r.workloads, id)
	r.mu.Unlock()
	return true, nil
}
