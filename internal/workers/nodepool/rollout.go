package nodepool

import (
	"fmt"
	"slices"
	"strings"

	"kqueen.io/kqueen/api/v1alpha1"
)

// bounds are how many machines there may be, and must be ready, while they are replaced.
type bounds struct {
	// wanted is spec.replicas, most how many there may be, least how many must be ready.
	wanted, most, least int
}

// bounds reads spec.rollout. Nothing is above spec.replicas when nothing is to be replaced, or can be.
func (p members) bounds() bounds {
	replicas := p.pool.Spec.Replicas
	surge := scaled(*p.pool.Spec.Rollout.MaxSurge, replicas, true)
	missing := scaled(*p.pool.Spec.Rollout.MaxUnavailable, replicas, false)
	if surge == 0 && missing == 0 {
		missing = 1 // a percentage of few machines can be none, and then nothing would ever be replaced
	}
	b := bounds{wanted: int(replicas), most: int(replicas), least: max(int(replicas)-missing, 0)}
	if replicas > 0 && p.refused == "" && slices.ContainsFunc(p.live, p.outdated) {
		b.most += surge
	}
	return b
}

// scaling brings the number of machines to what is wanted.
func (p members) scaling() step {
	b := p.bounds()
	var s step
	surplus := max(len(p.live)-b.most, 0)
	s.remove = slices.Clone(p.live[:surplus])
	// Machines above spec.replicas are there because others are being replaced, or because fewer are
	// wanted now. A user who said which goes first means the latter.
	spare := int(count(p.live[surplus:], ready)) - b.least
	for _, m := range p.live[surplus:] {
		if len(p.live)-len(s.remove) <= b.wanted || !annotated(m) {
			break
		}
		if ready(m) {
			if spare <= 0 {
				break
			}
			spare--
		}
		s.remove = append(s.remove, m)
	}
	if p.refused == "" {
		s.create = max(b.wanted-len(p.live), 0)
	}
	s.say = p.sayScale(b, s)
	return s
}

func (p members) sayScale(b bounds, s step) saying {
	have := int(count(p.live, ready))
	leaving := slices.Concat(s.remove, only(p.deleting, p.current))
	starting := only(p.live, func(m *v1alpha1.Machine) bool { return notReady(m) && !slices.Contains(s.remove, m) })
	if have >= b.wanted && len(leaving) == 0 && len(p.live) <= b.most {
		return saying{done: true, reason: v1alpha1.ReasonScaled, message: fmt.Sprintf("%s wanted, %d ready", machinesN(b.wanted), have)}
	}
	parts := []string{fmt.Sprintf("%s wanted, %d ready", machinesN(b.wanted), have)}
	if s.create > 0 {
		parts = append(parts, machinesN(s.create)+" being created")
	}
	if p.refused != "" && len(p.live) < b.wanted {
		parts = append(parts, "none is created while the spec is refused")
	}
	if len(starting) > 0 {
		parts = append(parts, "not ready: "+strings.Join(causes(starting), "; "))
	}
	if len(leaving) > 0 {
		parts = append(parts, "being removed: "+names(leaving))
	}
	return saying{reason: v1alpha1.ReasonScaling, message: strings.Join(parts, "; ")}
}

// updating replaces machines that are not made from the present template and version, as far as the
// rollout policy lets it at this moment. It waits while the number of machines is not right.
func (p members) updating(scale step) step {
	old := only(p.live, p.outdated)
	s := step{adjust: only(slices.Concat(p.live, p.deleting), func(m *v1alpha1.Machine) bool { return differs(p.pool, m) })}
	if p.refused == "" && !scale.acts() && len(old) > 0 {
		b := p.bounds()
		s.remove = p.replaceable(old, b)
		s.create = max(min(b.most-len(p.live), b.wanted-(len(p.live)-len(old))), 0)
	}
	leaving := only(p.deleting, p.outdated)
	switch {
	case p.refused != "":
		s.say = saying{stalled: true, reason: v1alpha1.ReasonRefused, message: p.refused}
	case len(old)+len(leaving) == 0:
		s.say = saying{done: true, reason: v1alpha1.ReasonUpdated, message: "all machines are up to date with the template and " + p.version}
	default:
		s.say = saying{reason: v1alpha1.ReasonUpdating, message: fmt.Sprintf("%d of %s are up to date with the template and %s; older: %s",
			len(p.live)-len(old), machinesN(len(p.live)), p.version, names(slices.Concat(old, leaving)))}
	}
	return s
}

// replaceable returns which outdated machines can go now. As in a Deployment, machines that are not
// ready are no help and go first, and new ones that are not ready yet count as if they never
// will be.
func (p members) replaceable(old []*v1alpha1.Machine, b bounds) []*v1alpha1.Machine {
	starting := only(p.live, func(m *v1alpha1.Machine) bool { return p.current(m) && notReady(m) })
	may := len(p.live) - b.least - len(starting)
	spare := int(count(p.live, ready)) - b.least
	var out []*v1alpha1.Machine
	for _, m := range old {
		if len(out) >= may {
			break
		}
		if ready(m) {
			if spare <= 0 {
				continue
			}
			spare--
		}
		out = append(out, m)
	}
	return out
}
