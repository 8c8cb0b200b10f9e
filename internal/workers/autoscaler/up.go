package autoscaler

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"kqueen.io/kqueen/internal/platform/text"
)

// growth is what became of the pods that wait.
type growth struct {
	// by is by how many machines each pool grows, and for the pods for which.
	by   map[string]int32
	pods map[string][]*load
	// refused are the pods for which there is no node and none to come, and by pool why.
	refused []refusal
	// needed says that the cluster runs, or is about to run, more than what KQueen runs in it.
	needed bool
}

// refusal is a pod that makes no pool larger, and why, by pool.
type refusal struct {
	pod *load
	why map[string]string
}

// grow places the pods that wait: on nodes that are there or come, else on ones by which a pool becomes larger. Pods of KQueen's own addons
// come last, and make a pool larger only where anything else runs: a cluster that runs nothing else needs no node.
func (s *simulation) grow(pools []*Pool) growth {
	g := growth{by: map[string]int32{}, pods: map[string][]*load{}, needed: s.runsMore()}
	var waiting, addons []*load
	for _, pod := range s.seen.Pods {
		if !waits(pod) {
			continue
		}
		l := loadOf(pod, s.seen.Addons)
		switch {
		case s.nominate(l):
			g.needed = g.needed || !l.addon
		case l.addon:
			addons = append(addons, l)
		default:
			waiting = append(waiting, l)
		}
	}
	slices.SortFunc(waiting, before)
	slices.SortFunc(addons, before)
	for _, l := range waiting[:min(len(waiting), mostWaiting)] {
		g.needed = s.place(l, pools, &g, true) || g.needed
	}
	for _, l := range addons[:min(len(addons), mostWaiting)] {
		s.place(l, pools, &g, g.needed)
	}
	return g
}

// runsMore says whether anything but addons and what belongs to nodes is on the nodes.
func (s *simulation) runsMore() bool {
	return slices.ContainsFunc(s.slots, func(on *slot) bool {
		return slices.ContainsFunc(on.pods, func(l *load) bool { return !l.addon && !stays(l.Pod) })
	})
}

// nominate places a pod where the scheduler makes a place for it.
func (s *simulation) nominate(l *load) bool {
	if l.Status.NominatedNodeName == "" {
		return false
	}
	i := slices.IndexFunc(s.slots, func(on *slot) bool { return on.node.Name == l.Status.NominatedNodeName })
	if i < 0 {
		return false
	}
	s.put(l, s.slots[i])
	s.slots[i].keeps = l
	return true
}

// place finds a place for a pod that waits, and says whether there is one.
func (s *simulation) place(l *load, pools []*Pool, g *growth, mayGrow bool) bool {
	if on := s.find(l, there, coming, added); on != nil {
		s.put(l, on)
		on.keeps = cmp.Or(on.keeps, l)
		if on.kind == added {
			g.pods[on.pool.Name] = append(g.pods[on.pool.Name], l)
		}
		return true
	}
	if !mayGrow || !unschedulable(l.Pod) {
		return false
	}
	var best *slot
	r := refusal{pod: l, why: map[string]string{}}
	for _, p := range pools {
		if !p.Scales {
			continue
		}
		on, why := s.candidate(l, p, g.by[p.Name])
		if why != "" {
			r.why[p.Name] = why
		} else if best == nil || on.left(l) < best.left(l) {
			best = on
		}
	}
	if best == nil {
		g.refused = append(g.refused, r)
		return false
	}
	s.slots = append(s.slots, best)
	s.put(l, best)
	g.by[best.pool.Name]++
	g.pods[best.pool.Name] = append(g.pods[best.pool.Name], l)
	return true
}

// candidate is a node by which a pool would become larger for a pod, or why it does not.
func (s *simulation) candidate(l *load, p *Pool, more int32) (*slot, string) {
	if l.unjudged != "" {
		return nil, l.unjudged
	}
	if p.Template == nil {
		return nil, "it is not known how large a node of the pool is"
	}
	on := s.fresh(p, added)
	s.slots = append(s.slots, on) // it is a domain of its topologies
	why := s.why(l, on)
	s.slots = s.slots[:len(s.slots)-1]
	if why != "" {
		return nil, "on a new node: " + why
	}
	if p.Replicas+more >= p.Max {
		return nil, fmt.Sprintf("the pool has as many machines as it may have (maxReplicas %d)", p.Max)
	}
	return on, ""
}

// left is how much of a node would be left with a pod on it: the sum of the shares of processors and memory.
func (on *slot) left(l *load) float64 {
	shares := 0.0
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if total := amountOf(name, on.node.Status.Allocatable[name]); total > 0 {
			shares += float64(on.free[name]-l.requests[name]) / float64(total)
		}
	}
	return shares
}

// because says for which pods a pool grows.
func because(pods []*load) string {
	return fmt.Sprintf("%s found no node, such as %s", text.Count(len(pods), "pod"), clean(pods[0].String()))
}
