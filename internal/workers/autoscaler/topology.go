package autoscaler

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// term is a required term of pod affinity or anti-affinity: pods that it selects, in the same domain of a topology.
type term struct {
	selector   labels.Selector
	namespaces []string // empty for all
	key        string
}

func (t term) selects(p *load) bool {
	return (len(t.namespaces) == 0 || slices.Contains(t.namespaces, p.Namespace)) && t.selector.Matches(labels.Set(p.Labels))
}

// spread is a constraint of topology spread that a pod may not break.
type spread struct {
	term
	skew, domains int
}

const (
	unjudgedNamespaces = "it selects namespaces by their labels in a pod affinity, which KQueen does not judge"
	unjudgedSelector   = "a selector of its affinity or spread is not valid"
)

// readTopology reads what a pod says about other pods.
func (l *load) readTopology() {
	if a := l.Spec.Affinity; a != nil {
		if a.PodAntiAffinity != nil {
			l.apart = l.terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
		if a.PodAffinity != nil {
			l.near = l.terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution)
		}
	}
	for _, c := range l.Spec.TopologySpreadConstraints {
		if c.WhenUnsatisfiable != corev1.DoNotSchedule {
			continue
		}
		s := spread{term: term{l.selector(c.LabelSelector, c.MatchLabelKeys), []string{l.Namespace}, c.TopologyKey}, skew: int(c.MaxSkew)}
		if c.MinDomains != nil {
			s.domains = int(*c.MinDomains)
		}
		l.spread = append(l.spread, s)
	}
}

func (l *load) terms(in []corev1.PodAffinityTerm) []term {
	out := make([]term, 0, len(in))
	for _, t := range in {
		namespaces := t.Namespaces
		switch {
		case t.NamespaceSelector == nil && len(namespaces) == 0:
			namespaces = []string{l.Namespace}
		case t.NamespaceSelector != nil && len(t.NamespaceSelector.MatchLabels)+len(t.NamespaceSelector.MatchExpressions) == 0:
			namespaces = nil
		case t.NamespaceSelector != nil:
			namespaces, l.unjudged = nil, unjudgedNamespaces
		}
		out = append(out, term{l.selector(t.LabelSelector, t.MatchLabelKeys), namespaces, t.TopologyKey})
	}
	return out
}

// selector reads a selector, and adds the keys whose values the pod has itself.
func (l *load) selector(in *metav1.LabelSelector, keys []string) labels.Selector {
	s, err := metav1.LabelSelectorAsSelector(in)
	if err != nil {
		l.unjudged = unjudgedSelector
		return labels.Nothing()
	}
	for _, key := range keys {
		value, ok := l.Labels[key]
		if !ok {
			continue
		}
		if own, err := labels.NewRequirement(key, "=", []string{value}); err == nil {
			s = s.Add(*own)
		}
	}
	return s
}

// whyTopology says what of other pods keeps a pod from a node; empty when nothing does.
func (s *simulation) whyTopology(l *load, on *slot) string {
	for _, a := range s.apart {
		if a.on.out {
			continue
		}
		for _, t := range a.apart {
			if sameDomain(t.key, a.on, on) && s.counts(t, l) {
				return "pod " + a.String() + " keeps it away by its anti-affinity"
			}
		}
	}
	for _, t := range l.apart {
		if s.countIn(t, on) > 0 {
			return "its anti-affinity keeps it away from a pod there"
		}
	}
	for _, t := range l.near {
		// The first pod of a group that wants to be together finds none of it.
		first := s.counts(t, l) && s.countAll(t) == 0
		if on.node.Labels[t.key] == "" || !first && s.countIn(t, on) == 0 {
			return "no pod is there that its affinity asks for"
		}
	}
	for _, c := range l.spread {
		if !s.spreads(c, l, on) {
			return "it would not be spread as its topology spread asks for"
		}
	}
	return ""
}

// sameDomain says whether two nodes are in one domain of a topology.
func sameDomain(key string, a, b *slot) bool {
	value, ok := a.node.Labels[key]
	return ok && (a == b || value == b.node.Labels[key])
}

// counts is term.selects, and counts how often it was asked: a cluster may have pods that never end to be compared.
func (s *simulation) counts(t term, p *load) bool {
	s.compared++
	return t.selects(p)
}

// countIn is how many pods a term selects in the domain of a node.
func (s *simulation) countIn(t term, on *slot) int {
	if _, ok := on.node.Labels[t.key]; !ok {
		return 0
	}
	n := 0
	if t.key == corev1.LabelHostname { // a domain of its own
		return s.countOn(t, on)
	}
	for _, other := range s.slots {
		if sameDomain(t.key, on, other) {
			n += s.countOn(t, other)
		}
	}
	return n
}

func (s *simulation) countOn(t term, on *slot) int {
	n := 0
	if on.out {
		return 0
	}
	for _, p := range on.pods {
		if s.counts(t, p) {
			n++
		}
	}
	return n
}

func (s *simulation) countAll(t term) int {
	n := 0
	for _, other := range s.slots {
		n += s.countOn(t, other)
	}
	return n
}

// spreads says whether a constraint holds with one pod more on a node: over all nodes that the pod may be on by their labels.
func (s *simulation) spreads(c spread, l *load, on *slot) bool {
	domain, ok := on.node.Labels[c.key]
	if !ok {
		return false
	}
	in := map[string]int{}
	for _, other := range s.slots {
		value, ok := other.node.Labels[c.key]
		if matches, err := l.nodes.Match(other.node); !ok || other.out || err != nil || !matches {
			continue
		}
		in[value] += s.countOn(c.term, other)
	}
	least := in[domain]
	for _, n := range in {
		least = min(least, n)
	}
	if len(in) < c.domains {
		least = 0
	}
	more := 0
	if s.counts(c.term, l) {
		more = 1
	}
	return in[domain]+more-least <= c.skew
}
