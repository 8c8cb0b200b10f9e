package autoscaler

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/listing"
	"kqueen.io/kqueen/internal/platform/text"
)

const (
	longestName  = 317
	longestCause = 300
	mostPods     = 10
	mostNodes    = 20
)

// clean is a name of the cluster as it is shown.
func clean(s string) string { return listing.Clean(s, longestName) }

// Decision is what is to be done with the pools of a cluster.
type Decision struct {
	// Pools are those that scale, by name.
	Pools map[string]PoolDecision
	// Idle is since when machines are not needed, for the next decision.
	Idle map[types.UID]time.Time
	// Due is when the first of them may go; zero when none is waited for.
	Due time.Time
}

// PoolDecision is what is to be done with a pool.
type PoolDecision struct {
	// Replicas is how many machines it shall have, and Why says why when that is another number than before.
	Replicas int32
	Why      string
	// Remove is the machine that goes; empty when none does.
	Remove string
	// Message, Pending and Nodes are for the status.
	Message string
	Pending []v1alpha1.AutoscalingCause
	Nodes   []v1alpha1.AutoscalingCause
}

// Plan says what is to be done with the pools of a cluster. idle is since when machines were not needed, as the last Decision had it. It is
// pure. Pools grow as soon as pods wait for it. One machine goes at a time, in all pools together, and none while a pool grows: what pods
// move to has to be seen first.
func Plan(seen Seen, pools []*Pool, idle map[types.UID]time.Time, now time.Time) Decision {
	s := simulate(seen, pools)
	g := s.grow(pools)
	nodes := s.judge(g.needed, idle, now)
	goes := s.whyNoneGoes(pools, g)
	var chosen *judgement
	if goes == "" {
		chosen = choose(nodes, now)
	}
	d := Decision{Pools: map[string]PoolDecision{}, Idle: map[types.UID]time.Time{}}
	for _, j := range nodes {
		if j.stays != "" {
			continue
		}
		d.Idle[j.on.machine.UID] = j.since
		if due := j.since.Add(j.on.pool.Idle); due.After(now) && (d.Due.IsZero() || due.Before(d.Due)) {
			d.Due = due
		}
	}
	for _, p := range pools {
		if p.Scales {
			d.Pools[p.Name] = s.decide(p, g, nodes, chosen, goes, now)
		}
	}
	return d
}

// whyNoneGoes says why no machine of any pool goes now; empty when one may.
func (s *simulation) whyNoneGoes(pools []*Pool, g growth) string {
	if len(g.by) > 0 {
		return "no node is removed while a pool is made larger"
	}
	for _, p := range pools {
		for _, m := range p.Machines {
			if p.Scales && m.Leaving {
				return "node " + m.Name + " is being removed; others follow one by one"
			}
		}
	}
	return ""
}

func (s *simulation) decide(p *Pool, g growth, nodes []judgement, chosen *judgement, goes string, now time.Time) PoolDecision {
	d := PoolDecision{Replicas: p.Replicas + g.by[p.Name]}
	if n := g.by[p.Name]; n > 0 {
		d.Why = because(g.pods[p.Name])
	}
	idle := 0
	for i := range nodes {
		j := &nodes[i]
		if j.on.pool != p {
			continue
		}
		why := j.stays
		if why == "" {
			idle++
			why = j.words(chosen, now)
		}
		d.Nodes = append(d.Nodes, cause(j.on.machine.Name, why))
		if j == chosen {
			d.Replicas, d.Remove = p.Replicas-1, j.on.machine.Name
			d.Why = fmt.Sprintf("node %s was not needed for %s", j.on.machine.Name, p.Idle)
		}
	}
	slices.SortFunc(d.Nodes, func(a, b v1alpha1.AutoscalingCause) int { return strings.Compare(a.Name, b.Name) })
	d.Nodes = d.Nodes[:min(len(d.Nodes), mostNodes)]
	for _, r := range g.refused[:min(len(g.refused), mostPods)] {
		d.Pending = append(d.Pending, cause(r.pod.String(), r.why[p.Name]))
	}
	d.Message = s.words(p, g, idle, goes)
	return d
}

func cause(name, message string) v1alpha1.AutoscalingCause {
	return v1alpha1.AutoscalingCause{Name: clean(name), Message: listing.Clean(message, longestCause)}
}

// words says how a pool is, for its status.
func (s *simulation) words(p *Pool, g growth, idle int, goes string) string {
	var said []string
	awaited := 0
	for _, on := range s.slots {
		if on.pool == p && on.kind == coming {
			awaited++
		}
	}
	if awaited > 0 {
		said = append(said, text.Count(awaited, "node")+" on the way")
	}
	if n := len(g.refused); n > 0 {
		said = append(said, text.Count(n, "pod")+" without a node, for which no pool is made larger")
	}
	switch {
	case idle == 0:
	case p.Held != "":
		said = append(said, "no node is removed: "+p.Held)
	case goes != "":
		said = append(said, goes)
	}
	return strings.Join(said, "; ")
}
