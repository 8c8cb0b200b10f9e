package autoscaler

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

const (
	// mostCompared is how often pods are compared with each other in one look, and mostWaiting for how many a place is looked for.
	mostCompared = 20_000_000
	mostWaiting  = 2000
)

// slot is a node, or one that comes, and what is on it.
type slot struct {
	node *corev1.Node
	pool *Pool // nil for a node of none
	// machine is that of the node; empty for a node that comes, and for one of no pool.
	machine Machine
	kind    slotKind
	// closed says that no pod is to be placed on it, and out that what is on it does not count.
	closed, out bool
	free        amounts
	pods        []*load
	// keeps is a pod that waits and has a place here.
	keeps *load
}

// slotKind is in the order in which pods are placed.
type slotKind int

const (
	there  slotKind = iota // a node that is ready
	coming                 // one that is on its way, or is not ready
	added                  // one that a pool is made larger by
)

// placed is a pod with anti-affinity, and where it is.
type placed struct {
	*load
	on *slot
}

// simulation is a cluster in which pods are placed.
type simulation struct {
	seen     Seen
	slots    []*slot
	apart    []placed
	compared int
	numbered int
}

// simulate is the cluster as it is, with the nodes that come.
func simulate(seen Seen, pools []*Pool) *simulation {
	s := &simulation{seen: seen}
	machines := map[string]*slot{}
	for _, p := range pools {
		for _, m := range p.Machines {
			machines[m.Name] = &slot{pool: p, machine: m}
		}
	}
	byName := map[string]*slot{}
	registered, going := map[*Pool]int32{}, map[*Pool]int32{}
	for _, node := range seen.Nodes {
		on := machines[node.Name]
		if on == nil {
			on = &slot{}
		}
		switch {
		case on.pool == nil || on.machine.Leaving:
		case on.goes():
			going[on.pool]++
		default:
			registered[on.pool]++
		}
		on.node = node
		if !s.admit(on) {
			continue
		}
		byName[node.Name] = on
		s.slots = append(s.slots, on)
	}
	slices.SortFunc(s.slots, func(a, b *slot) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.node.Name, b.node.Name))
	})
	for _, pod := range seen.Pods {
		if on := byName[pod.Spec.NodeName]; on != nil && !ended(pod) {
			s.put(loadOf(pod, seen.Addons), on)
		}
	}
	for _, p := range pools {
		// Machines may come beyond replicas, while others are replaced.
		for range max(p.Replicas, p.live()-going[p]) - registered[p] {
			if p.Template != nil {
				s.slots = append(s.slots, s.fresh(p, coming))
			}
		}
	}
	return s
}

// goes says that the machine of a node is the one by which its pool becomes smaller.
func (on *slot) goes() bool { return on.machine.Marked && on.pool.live() > on.pool.Replicas }

// admit says whether a node is one of the simulation, and how.
func (s *simulation) admit(on *slot) bool {
	on.closed = on.node.Spec.Unschedulable || on.machine.Leaving || on.pool != nil && on.goes() || on.node.DeletionTimestamp != nil
	on.free = amountsOf(on.node.Status.Allocatable)
	if ready(on.node) {
		return true
	}
	on.kind = coming
	if on.pool == nil || on.pool.Template == nil {
		return false // it may never come back
	}
	if on.free[corev1.ResourcePods] == 0 {
		on.free = amountsOf(on.pool.Template.Status.Allocatable)
	}
	// Taints of its start go by themselves, as they came.
	node := on.node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return passing(t.Key) })
	on.node = node
	return true
}

// fresh is a new node of a pool with what DaemonSets will run on it. It is not in the simulation yet.
func (s *simulation) fresh(p *Pool, kind slotKind) *slot {
	s.numbered++
	node := p.Template.DeepCopy()
	node.Name = fmt.Sprintf("%s (new %d)", p.Name, s.numbered)
	node.Labels[corev1.LabelHostname] = node.Name
	on := &slot{node: node, pool: p, kind: kind, free: amountsOf(node.Status.Allocatable)}
	for _, set := range s.seen.DaemonSets {
		pod := &corev1.Pod{Spec: set.Spec.Template.Spec}
		if !runsOn(pod, node) {
			continue
		}
		on.take(amountsOf(resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})))
		on.free[corev1.ResourcePods]--
	}
	return on
}

// put places a pod.
func (s *simulation) put(l *load, on *slot) {
	on.take(l.requests)
	on.pods = append(on.pods, l)
	if len(l.apart) > 0 {
		s.apart = append(s.apart, placed{l, on})
	}
}

func (on *slot) take(of amounts) {
	for name, amount := range of {
		on.free[name] -= amount
	}
}

// find returns the first node of some kinds that has a place for a pod; nil when none has.
func (s *simulation) find(l *load, kinds ...slotKind) *slot {
	for _, on := range s.slots {
		if !on.closed && !on.out && slices.Contains(kinds, on.kind) && s.why(l, on) == "" {
			return on
		}
	}
	return nil
}

// remove takes a pod away again that was placed last.
func (s *simulation) remove(l *load, on *slot) {
	for name, amount := range l.requests {
		on.free[name] += amount
	}
	on.pods = on.pods[:len(on.pods)-1]
	if len(l.apart) > 0 {
		s.apart = s.apart[:len(s.apart)-1]
	}
}
