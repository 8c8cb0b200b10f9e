package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"kqueen.io/kqueen/internal/server/status"
)

// cost is what idle tenants take.
type cost struct {
	Tenants int `json:"tenants"`
	// MemoryMiB is the anonymous memory of one tenant's component, the mean over all tenants.
	MemoryMiB map[string]float64 `json:"memoryMiB"`
	// IdlePercent is the share of one core that one tenant's component takes while there are no requests.
	IdlePercent map[string]float64 `json:"idlePercent"`
	// ManagerMiB is what each tenant adds to the live heap of kqueen itself.
	ManagerMiB float64 `json:"managerMiB"`
	// StoreIdlePercent is etcd's share of one core, for all tenants.
	StoreIdlePercent float64 `json:"storeIdlePercent"`
	// GateIdlePercent is that of the gate before it, and GateMiB its anonymous memory.
	GateIdlePercent float64 `json:"gateIdlePercent"`
	GateMiB         float64 `json:"gateMiB"`
}

// costs measures the clusters that atOnce has left, and then kqueen itself without them.
func costs(ctx context.Context, inst *installation, tenants int, idle time.Duration) (cost, error) {
	before, err := settled(ctx, inst, idle)
	if err != nil {
		return cost{}, err
	}
	after, err := settled(ctx, inst, idle)
	if err != nil {
		return cost{}, err
	}
	c := cost{Tenants: tenants, MemoryMiB: map[string]float64{}, IdlePercent: map[string]float64{}}
	then, now := sum(before), sum(after)
	for name, use := range now {
		cpu := 100 * (use.cpu - then[name].cpu) / idle.Seconds()
		switch name {
		case storeWorkload:
			c.StoreIdlePercent = cpu
			continue
		case gateWorkload:
			c.GateIdlePercent, c.GateMiB = cpu, use.memory
			continue
		}
		c.MemoryMiB[name] = use.memory / float64(tenants)
		c.IdlePercent[name] = cpu / float64(tenants)
	}
	err = managerCost(ctx, inst, &c)
	return c, err
}

// managerCost measures a fresh kqueen with the tenants and a fresh one without: memory that Go keeps after a deletion
// would make the difference too small. Both collect garbage all the time, because the live heap is known from the last
// collection, and garbage is many times what one tenant adds. What is measured later would be slower.
func managerCost(ctx context.Context, inst *installation, c *cost) error {
	inst.env = append(inst.env, "GOGC=5")
	with, err := restarted(ctx, inst)
	if err != nil {
		return err
	}
	var names []string
	for n := range c.Tenants {
		names = append(names, fmt.Sprintf("together-%d", n))
	}
	if err := inst.deleteAll(ctx, names); err != nil {
		return err
	}
	without, err := restarted(ctx, inst)
	if err != nil {
		return err
	}
	c.ManagerMiB = (float64(with.LiveBytes) - float64(without.LiveBytes)) / (1 << 20) / float64(c.Tenants)
	return nil
}

// managerSettles is how long a fresh kqueen gets to look at every object once.
const managerSettles = 10 * time.Second

// restarted ends kqueen, not what it runs, starts it again and looks at it once it has come to rest.
func restarted(ctx context.Context, inst *installation) (*status.Status, error) {
	if err := inst.halt(ctx); err != nil {
		return nil, err
	}
	// The next one waits for the lock of the one that is being killed.
	if err := inst.kqueen(ctx, "up"); err != nil {
		return nil, err
	}
	return settled(ctx, inst, managerSettles)
}

type use struct{ memory, cpu float64 }

// The workloads that all tenants share, and their one component.
const (
	storeWorkload = "etcd"
	gateWorkload  = "store-gate"
)

// sum adds up the components of all tenants, by name; etcd is all of the store, and the gate all of it, too.
func sum(s *status.Status) map[string]use {
	total := map[string]use{}
	for _, w := range s.Workloads {
		for _, c := range w.Components {
			if w.Own && w.ID != storeWorkload && w.ID != gateWorkload {
				continue
			}
			u := total[c.Name]
			total[c.Name] = use{u.memory + float64(c.MemoryBytes)/(1<<20), u.cpu + c.CPUSeconds}
		}
	}
	return total
}

// settled waits and then looks: what has just started is not idle.
func settled(ctx context.Context, inst *installation, wait time.Duration) (*status.Status, error) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return status.Read(ctx, inst.dir)
}

func (r *result) print(out io.Writer, o options) {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	one, many := fmt.Sprintf("one cluster, %d runs", o.runs), fmt.Sprintf("%d at once", o.together)
	answer, ready := func(t times) float64 { return t.Answer }, func(t times) float64 { return t.Ready }
	table := func(title string, kqueen, bare func(times) float64) {
		fmt.Fprintf(w, "%s\tKQUEEN p50\tp100\tBARE p50\tp100\tRATIO p50\n", title)
		for _, row := range []struct {
			name string
			pair
		}{{one, r.One}, {many, r.Together}} {
			ours, theirs := pick(row.KQueen, kqueen), pick(row.Bare, bare)
			fmt.Fprintf(w, "%s\t%.2fs\t%.2fs\t%.2fs\t%.2fs\t%.2f\n", row.name,
				median(ours), slices.Max(ours), median(theirs), slices.Max(theirs), median(ours)/median(theirs))
		}
		fmt.Fprintln(w)
	}
	table("FIRST ANSWER, bare /readyz", answer, ready)
	table("FIRST ANSWER, bare first answer", answer, answer)
	table("CLUSTER READY, bare /readyz", ready, ready)
	fmt.Fprintf(w, "IDLE COST PER TENANT, %d tenants\tMEMORY\tPROCESSOR\n", r.Cost.Tenants)
	for _, name := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		fmt.Fprintf(w, "%s\t%.0f MiB\t%.2f%%\n", name, r.Cost.MemoryMiB[name], r.Cost.IdlePercent[name])
	}
	fmt.Fprintf(w, "kqueen, live\t%.2f MiB\t\n", r.Cost.ManagerMiB)
	fmt.Fprintf(w, "etcd, for all\t\t%.2f%%\n", r.Cost.StoreIdlePercent)
	fmt.Fprintf(w, "store gate, for all\t%.0f MiB\t%.2f%%\n", r.Cost.GateMiB, r.Cost.GateIdlePercent)
	_ = w.Flush()
}

func pick(all []times, field func(times) float64) []float64 {
	var values []float64
	for _, t := range all {
		values = append(values, field(t))
	}
	return values
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
