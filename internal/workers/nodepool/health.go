package nodepool

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// shortestLook keeps a time that is nearly over from becoming a busy loop.
const shortestLook = time.Second

// healing says which machines are given up for their health, and when to look again: a time that passes
// is nothing that a watch says.
func (p members) healing(now time.Time) (step, time.Duration) {
	policy := p.pool.Spec.Health
	var down, dead, stranded []*v1alpha1.Machine
	var look time.Duration
	for _, m := range p.live {
		left, counts := p.patience(m, now)
		if !counts {
			continue
		}
		expired := left <= 0
		if m.Status.JoinTime != nil || expired {
			down = append(down, m)
		}
		switch {
		case !expired:
			if look == 0 || left < look {
				look = max(left, shortestLook)
			}
		case userJoins(m):
			stranded = append(stranded, m)
		default:
			dead = append(dead, m)
		}
	}
	down = append(down, p.unseen()...)
	s := step{say: saying{done: true, reason: v1alpha1.ReasonAllHealthy, message: "no machine is unhealthy"}}
	switch allowed := atMost(*policy.MaxUnhealthy, p.pool.Spec.Replicas); {
	case len(dead)+len(stranded) == 0:
	case len(down) > allowed:
		s.say = saying{reason: v1alpha1.ReasonTooManyUnhealthy, message: fmt.Sprintf(
			"%d of %s are not ready (%s), and spec.health.maxUnhealthy (%s of %d) allows %d: none is replaced, because the cause is probably not the machines",
			len(down), machinesN(len(p.live)), names(down), policy.MaxUnhealthy.String(), p.pool.Spec.Replicas, allowed)}
	case p.refused != "" && len(dead) > 0:
		s.say = saying{reason: v1alpha1.ReasonNotReplaced, message: "not ready for too long, and not replaced because the spec is refused: " + names(dead)}
	case len(dead) > 0:
		s.remove = dead
		s.say = saying{reason: v1alpha1.ReasonReplacing, message: "not ready for too long and being replaced: " + names(dead)}
	default:
		s.say = saying{reason: v1alpha1.ReasonNotReplaced, message: "not ready for too long, and not replaced because a user has to join another machine: " +
			names(stranded) + "; repair them, or delete them once others are there"}
	}
	return s, look
}

// patience returns how long a machine may go on as it is, and whether it is in a state that it must not
// stay in. Nothing is said of a machine of which it could not be seen how it is.
func (p members) patience(m *v1alpha1.Machine, now time.Time) (left time.Duration, counts bool) {
	began, timeout := m.CreationTimestamp.Time, p.pool.Spec.Health.StartupTimeout()
	if m.Status.JoinTime != nil {
		c := nodeReadyOf(m)
		if c != nil && c.Status != metav1.ConditionFalse {
			return 0, false
		}
		began, timeout = m.Status.JoinTime.Time, p.pool.Spec.Health.UnreadyTimeout()
		if c != nil {
			began = c.LastTransitionTime.Time
		}
	} else if userJoins(m) || ready(m) {
		return 0, false // when a user joins a machine is not known
	}
	if began.Before(p.since) {
		began = p.since
	}
	return timeout - now.Sub(began), true
}

// unseen are machines that had joined and of which it cannot be seen whether they are ready: that alone is
// no reason to give them up, but a good one to be careful with others.
func (p members) unseen() []*v1alpha1.Machine {
	return only(p.live, func(m *v1alpha1.Machine) bool {
		c := nodeReadyOf(m)
		return m.Status.JoinTime != nil && c != nil && c.Status == metav1.ConditionUnknown
	})
}

// userJoins says whether a user joins the machine, so that KQueen can neither switch it off nor make another.
func userJoins(m *v1alpha1.Machine) bool { return m.Spec.Provider == v1alpha1.ProviderManual }

// atMost reads a number of machines or a percentage of replicas, which is rounded down, but not to
// nothing when it is above 0.
func atMost(limit intstr.IntOrString, replicas int32) int {
	n := scaled(limit, replicas, false)
	if n == 0 && limit.Type == intstr.String && scaled(limit, 100, false) > 0 {
		return 1
	}
	return n
}

// scaled reads a number of machines or a percentage of replicas. The schema lets nothing else through.
func scaled(limit intstr.IntOrString, replicas int32, up bool) int {
	n, err := intstr.GetScaledValueFromIntOrPercent(&limit, int(replicas), up)
	if err != nil {
		return 0
	}
	return max(n, 0)
}
