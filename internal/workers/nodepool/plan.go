package nodepool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/text"
)

// wish is what a pool's machines shall be like, and what is known beside them.
type wish struct {
	pool *v1alpha1.NodePool
	// version that the machines shall have, and why no machine can be made as the spec says, for users;
	// empty when it can.
	version, refused string
	// since is the time from which on it is known how machines are: time that a machine was not ready
	// before does not count against it.
	since time.Time
}

// decision is what is to be done with the machines of a pool, in three steps that own a condition each.
// A step is about machines as they are, and not as they would be after the step before it: between the
// two is a plan of its own. So each alone keeps the bounds, whatever became of the others.
type decision struct {
	heal, scale, update step
	// replicas, ready and updated are for the status.
	replicas, ready, updated int32
	// version that machines are created with.
	version string
}

// step is what is to be done about one condition, and what the condition says.
type step struct {
	// adjust are machines whose spec is to follow the template in place.
	adjust []*v1alpha1.Machine
	// remove are machines to delete, in that order, before machines are created.
	remove []*v1alpha1.Machine
	create int
	say    saying
}

// acts says whether anything is to be done.
func (s step) acts() bool { return s.create > 0 || len(s.remove)+len(s.adjust) > 0 }

// saying is what a condition says.
type saying struct {
	done, stalled   bool
	reason, message string
	// after is when the pool is looked at again although nothing changed; zero for never.
	after time.Duration
}

func (s saying) outcome() operator.Outcome {
	switch {
	case s.stalled:
		return operator.Stalled(s.reason, "%s", s.message)
	case s.done:
		return operator.DoneUntil(s.reason, s.message, s.after)
	case s.after > 0:
		return operator.Wait(s.reason, s.message, s.after)
	}
	return operator.Warn(s.reason, s.message)
}

// members are the machines of a pool, sorted by what they are good for. One that is being deleted is no
// replica any more.
type members struct {
	wish
	live, deleting []*v1alpha1.Machine
}

// plan says what is to be done with the machines of a pool. It is pure: all that it knows is in its
// arguments, and the machines stay as they are.
func plan(w wish, machines []v1alpha1.Machine, now time.Time) decision {
	all := members{wish: w}
	for i := range machines {
		if m := &machines[i]; m.DeletionTimestamp.IsZero() {
			all.live = append(all.live, m)
		} else {
			all.deleting = append(all.deleting, m)
		}
	}
	// The order in which machines are given up is also that in which they are named.
	slices.SortFunc(all.live, all.worse)
	slices.SortFunc(all.deleting, byName)
	d := decision{
		version:  w.version,
		replicas: count(all.live, func(*v1alpha1.Machine) bool { return true }),
		ready:    count(all.live, ready),
		updated:  count(all.live, all.current),
	}
	var look time.Duration
	d.heal, look = all.healing(now)
	d.scale = all.scaling()
	d.update = all.updating(d.scale)
	// The last step carries when to look again, because it is always reached.
	d.update.say.after = look
	return d
}

// worse orders machines by how willingly they are given up.
func (p members) worse(a, b *v1alpha1.Machine) int {
	return cmp.Or(
		first(annotated(a), annotated(b)),
		first(!ready(a), !ready(b)),
		first(!p.current(a), !p.current(b)),
		b.CreationTimestamp.Compare(a.CreationTimestamp.Time), // the youngest has the least on it
		byName(a, b),
	)
}

// first puts what is so before what is not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func byName(a, b *v1alpha1.Machine) int { return cmp.Compare(a.Name, b.Name) }

func annotated(m *v1alpha1.Machine) bool {
	_, asked := m.Annotations[v1alpha1.AnnotationDeleteFirst]
	return asked
}

func ready(m *v1alpha1.Machine) bool {
	return apimeta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionNodeReady)
}

func notReady(m *v1alpha1.Machine) bool { return !ready(m) }

// current says whether a machine is made from the present template and version.
func (p members) current(m *v1alpha1.Machine) bool {
	template := &p.pool.Spec.Template
	return m.Spec.Version == p.version && m.Spec.Provider == template.Provider &&
		sameJSON(m.Spec.Parameters, template.Parameters) && sameResources(m.Spec.Resources, template.Resources)
}

func (p members) outdated(m *v1alpha1.Machine) bool { return !p.current(m) }

func count(machines []*v1alpha1.Machine, is func(*v1alpha1.Machine) bool) int32 {
	return int32(len(only(machines, is)))
}

func only(machines []*v1alpha1.Machine, is func(*v1alpha1.Machine) bool) []*v1alpha1.Machine {
	var out []*v1alpha1.Machine
	for _, m := range machines {
		if is(m) {
			out = append(out, m)
		}
	}
	return out
}

// mostNames keeps a message readable.
const mostNames = 6

// names lists machines for users, by name.
func names(machines []*v1alpha1.Machine) string {
	sorted := slices.SortedFunc(slices.Values(machines), byName)
	var out []string
	for _, m := range sorted[:min(len(sorted), mostNames)] {
		out = append(out, m.Name)
	}
	list := strings.Join(out, ", ")
	if more := len(sorted) - mostNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

const (
	// mostCauses is how many different causes a message has, and longestCause how many bytes each.
	mostCauses   = 3
	longestCause = 200
)

// causes lists machines for users, by what they say of themselves: machines of the same cause stand together.
func causes(machines []*v1alpha1.Machine) []string {
	of := map[string][]*v1alpha1.Machine{}
	for _, m := range machines {
		cause := causeOf(m)
		of[cause] = append(of[cause], m)
	}
	known := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Compare(names(of[a]), names(of[b])) })
	var out []string
	for i, cause := range known {
		if i == mostCauses {
			return append(out, fmt.Sprintf("and %d more causes", len(known)-mostCauses))
		}
		said := names(of[cause])
		if cause != "" {
			said += ": " + cause
		}
		out = append(out, said)
	}
	return out
}

// causeOf is why a machine is not ready, in its own words; empty while it has none.
func causeOf(m *v1alpha1.Machine) string {
	c := apimeta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Status == metav1.ConditionTrue {
		return ""
	}
	return text.Cut(c.Message, longestCause)
}

// machinesN is a number of machines for users.
func machinesN(n int) string { return text.Count(n, "machine") }

func nodeReadyOf(m *v1alpha1.Machine) *metav1.Condition {
	return apimeta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionNodeReady)
}
