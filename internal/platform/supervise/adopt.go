package supervise

import (
	"context"
	"time"

	"kqueen.io/kqueen/internal/platform/health"
)

// handedOver tells the processes of one component apart, which come oldest first: the one that it is, those whose place has been
// taken, and those that only a fault can make, of which the older one stays. It is pure.
func handedOver(all []found) (is found, before, second []found) {
	is = all[0]
	for _, f := range all[1:] {
		if f.spec == is.spec || is.leaves == 0 {
			second = append(second, f)
			continue
		}
		before, is = append(before, is), f
	}
	return is, before, second
}

// adoptAll takes over every component that runs.
func (s *Supervisor) adoptAll(ctx context.Context) error {
	all, err := scanAll(ctx, s.instance)
	if err != nil {
		return err
	}
	type component struct{ workload, name string }
	var order []component
	of := map[component][]found{}
	for _, f := range oldestFirst(s.users.ours(all)) {
		if !f.leader { // a child of a component; Stop and Remove sweep it
			continue
		}
		c := component{f.workload, f.component}
		if len(of[c]) == 0 {
			order = append(order, c)
		}
		of[c] = append(of[c], f)
	}
	for _, c := range order {
		if err := s.adoptOne(ctx, of[c]); err != nil && !isGone(err) {
			return err
		}
	}
	return nil
}

// adoptOne takes over the processes of one component, oldest first.
func (s *Supervisor) adoptOne(ctx context.Context, all []found) error {
	is, before, second := handedOver(all)
	log := s.conf.Log.With("workload", is.workload, "component", is.component)
	for _, f := range second {
		log.Warn("killing the second process of a component", "pid", f.pid)
		if err := killSoon(ctx, f); err != nil && !isGone(err) {
			return err
		}
	}
	wl := s.workload(is.workload)
	wl.mu.Lock()
	defer wl.mu.Unlock()
	k := newKeeper(s, wl, is.component)
	for _, f := range append(before, is) {
		p, err := adopt(f)
		if err != nil && isGone(err) {
			continue // the one before it stays what the component is
		}
		if err != nil {
			return err
		}
		log.Info("adopted", "pid", f.pid)
		if k.proc != nil {
			k.parting.add(k, k.proc)
		}
		k.hold(p, StateAdopted)
	}
	if k.proc == nil {
		return nil
	}
	k.status = ComponentStatus{PID: k.proc.pid, Component: health.Component{Name: k.name, State: StateAdopted, StartedAt: k.proc.startedAt}}
	k.ran, k.start = k.proc.spec, k.proc.start
	return s.spawn(wl, k)
}

func killSoon(ctx context.Context, f found) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return kill(ctx, f)
}
