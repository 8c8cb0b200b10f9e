package storegate

import (
	"context"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// noQuota is the quota of a group that may hold as much as it wants.
const noQuota int64 = -1

// group is the control planes that share a quota: those of an organization.
type group struct {
	mu      sync.Mutex
	quota   int64
	members map[*tenant]bool
	// pending is by how much requests that are under way let grow.
	pending int64
	// lowest is the least that was held since it was more than the quota; zero while it is not.
	lowest int64
}

func newGroup() *group { return &group{quota: noQuota, members: map[*tenant]bool{}} }

func (g *group) setQuota(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.quota = bytes
}

func (g *group) join(t *tenant) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members[t] = true
}

// leave returns how many are left.
func (g *group) leave(t *tenant) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.members, t)
	return len(g.members)
}

// toCount are the members that have to be counted before the quota can be asked; none where there is no quota.
func (g *group) toCount() []*tenant {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.quota < 0 {
		return nil
	}
	var all []*tenant
	for t := range g.members {
		all = append(all, t)
	}
	return all
}

// admit lets a request grow, or refuses it. most is by how much it can grow at most; look, which costs a call, says it
// exactly and is asked only when that is too much. What is let through counts as if it were there until settle is called, with
// what counts instead of it.
func (g *group) admit(ctx context.Context, most int64, look func(context.Context) (growth, error)) (settle func(instead func()), err error) {
	members := g.toCount()
	for _, t := range members {
		if err := t.counted(ctx); err != nil {
			return nil, err
		}
	}
	settle, err = g.reserve(growth{bytes: most})
	if err == nil {
		return settle, nil
	}
	exactly, failed := look(ctx)
	if failed != nil {
		return nil, failed
	}
	return g.reserve(exactly)
}

func (g *group) reserve(by growth) (settle func(instead func()), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.quota >= 0 {
		var held int64
		for t := range g.members {
			bytes, known := t.count.held()
			if !known {
				return nil, errUncounted // it came in the meantime
			}
			held += bytes
		}
		switch {
		case held <= g.quota:
			g.lowest = 0
		case g.lowest == 0 || held < g.lowest:
			g.lowest = held
		}
		if !allowed(g.quota, g.lowest, held+g.pending, by) {
			return nil, exceeded(g.quota, held)
		}
	}
	reserved := max(by.bytes, 0)
	g.pending += reserved
	return func(instead func()) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.pending -= reserved
		instead()
	}, nil
}

// exceeded is what the user of a cluster reads: the API server passes it on.
func exceeded(quota, held int64) error {
	return status.Errorf(codes.ResourceExhausted, "store quota exceeded: the organization's clusters hold %d KiB of the %d KiB that they may; "+
		"delete objects, or have an administrator of the installation raise the quota", (held+1023)>>10, quota>>10)
}
