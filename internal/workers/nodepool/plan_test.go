package nodepool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
)

// noon is now; machines are an hour old unless they say otherwise.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

type (
	change = func(*v1alpha1.Machine)
	shape  = func(*wish)
)

// made is a machine of the present template that is a ready node, and then as it is changed.
func made(name string, changes ...change) v1alpha1.Machine {
	joined := ago(time.Hour)
	m := v1alpha1.Machine{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: joined, Labels: map[string]string{v1alpha1.LabelCluster: "demo", v1alpha1.LabelNodePool: "pool"}},
		Spec:       v1alpha1.MachineSpec{ClusterName: "demo", Version: "v1.36.3", Provider: "local"},
		Status:     v1alpha1.MachineStatus{JoinTime: &joined},
	}
	m.Spec.Drain.Default()
	nodeIs(&m, metav1.ConditionTrue, joined)
	for _, c := range changes {
		c(&m)
	}
	return m
}

func nodeIs(m *v1alpha1.Machine, status metav1.ConditionStatus, since metav1.Time) {
	m.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNodeReady, Status: status, LastTransitionTime: since, Reason: "Test"}}
}

func down(d time.Duration) change {
	return func(m *v1alpha1.Machine) { nodeIs(m, metav1.ConditionFalse, ago(d)) }
}

func unseen(d time.Duration) change {
	return func(m *v1alpha1.Machine) { nodeIs(m, metav1.ConditionUnknown, ago(d)) }
}

// starting is a machine that has not joined since it was made.
func starting(d time.Duration) change {
	return func(m *v1alpha1.Machine) {
		m.CreationTimestamp, m.Status.JoinTime = ago(d), nil
		nodeIs(m, metav1.ConditionFalse, ago(d))
	}
}

func aged(d time.Duration) change { return func(m *v1alpha1.Machine) { m.CreationTimestamp = ago(d) } }
func old(m *v1alpha1.Machine)     { m.Spec.Version = "v1.36.2" }
func manual(m *v1alpha1.Machine)  { m.Spec.Provider = v1alpha1.ProviderManual }
func leaving(m *v1alpha1.Machine) { t := ago(time.Minute); m.DeletionTimestamp = &t }
func chosen(m *v1alpha1.Machine) {
	m.Annotations = map[string]string{v1alpha1.AnnotationDeleteFirst: ""}
}

func want(replicas int32, shapes ...shape) wish {
	p := &v1alpha1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "pool"}}
	p.Spec = v1alpha1.NodePoolSpec{
		ClusterName: "demo", Replicas: replicas, Template: v1alpha1.MachineTemplate{Provider: "local"},
	}
	p.Spec.Default()
	w := wish{pool: p, version: "v1.36.3"}
	for _, s := range shapes {
		s(&w)
	}
	return w
}

func rollout(surge, unavailable string) shape {
	return func(w *wish) {
		w.pool.Spec.Rollout = rolls(surge, unavailable)
	}
}

func unhealthy(most string) shape {
	return func(w *wish) { w.pool.Spec.Health.MaxUnhealthy = ptr.To(intstr.Parse(most)) }
}

func refusing(w *wish) { w.refused = "spec.version: too new" }

// said is a decision in words: the machines that are adjusted (~) and removed (-), how many are created
// (+), and the reason of the condition, with a star when it is true.
type said struct{ Heal, Scale, Update string }

func words(s step) string {
	var out []string
	for _, m := range s.adjust {
		out = append(out, "~"+m.Name)
	}
	for _, m := range s.remove {
		out = append(out, "-"+m.Name)
	}
	if s.create > 0 {
		out = append(out, fmt.Sprintf("+%d", s.create))
	}
	reason := s.say.reason
	if s.say.done {
		reason += "*"
	}
	return strings.Join(append(out, reason), " ")
}

type planTest struct {
	reason   string
	wish     wish
	machines []v1alpha1.Machine
	want     said
}

type planTests map[string]planTest

func (tests planTests) run(t *testing.T) {
	t.Helper()
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := plan(tc.wish, tc.machines, noon)
			if diff := cmp.Diff(tc.want, said{words(d.heal), words(d.scale), words(d.update)}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

const (
	healthy = "AllHealthy*"
	full    = "Scaled*"
	same    = "Updated*"
)

func machines(m ...v1alpha1.Machine) []v1alpha1.Machine { return m }

func TestScaling(t *testing.T) {
	planTests{
		"First":      {"A new pool gets its machines.", want(3), nil, said{healthy, "+3 Scaling", same}},
		"Enough":     {"Nothing to do.", want(2), machines(made("a"), made("b")), said{healthy, full, same}},
		"Starting":   {"A machine that starts is there, and not ready.", want(2), machines(made("a"), made("b", starting(time.Minute))), said{healthy, "Scaling", same}},
		"Up":         {"As many as are missing, no more.", want(3), machines(made("a")), said{healthy, "+2 Scaling", same}},
		"ToNone":     {"All go.", want(0), machines(made("a"), made("b")), said{healthy, "-a -b Scaling", same}},
		"None":       {"None are wanted, none are there.", want(0), nil, said{healthy, full, same}},
		"Leaving":    {"What is being deleted is no replica: another is made at once.", want(2), machines(made("a"), made("b", leaving)), said{healthy, "+1 Scaling", same}},
		"StillThere": {"It is not done before what was too much is gone.", want(1), machines(made("a"), made("b", leaving)), said{healthy, "Scaling", same}},
		"Ties":       {"Machines that are alike go by name, whatever their order.", want(1), machines(made("c"), made("a"), made("b")), said{healthy, "-a -b Scaling", same}},
		"Youngest":   {"Of ready ones the youngest goes.", want(2), machines(made("a"), made("b", aged(time.Minute)), made("c")), said{healthy, "-b Scaling", same}},
		"NotReady":   {"What is not ready goes before the youngest.", want(2), machines(made("a", down(time.Minute)), made("b", aged(time.Minute)), made("c")), said{healthy, "-a Scaling", same}},
		"NeverJoin":  {"What never joined is not ready.", want(1), machines(made("a"), made("b", starting(time.Minute))), said{healthy, "-b Scaling", same}},
		"Chosen":     {"The one that the user chose goes before what is not ready.", want(2), machines(made("a", down(time.Minute)), made("b", chosen), made("c")), said{healthy, "-b Scaling", same}},
		"ChosenOnly": {"The choice alone removes nothing.", want(3), machines(made("a"), made("b", chosen), made("c")), said{healthy, full, same}},
		"Order": {
			"Chosen, not ready, outdated, youngest.", want(0),
			machines(made("e"), made("d", aged(time.Minute)), made("c", old), made("b", starting(time.Minute)), made("a", chosen)),
			said{healthy, "-a -b -c -d -e Scaling", "Updating"},
		},
		"NotTwice":  {"What is on its way out does not stand for what is too many.", want(1), machines(made("a"), made("b"), made("c", leaving)), said{healthy, "-a Scaling", same}},
		"ManyReady": {"A machine that is not ready and leaves is no reason to wait for it to be ready.", want(1), machines(made("a"), made("b", starting(time.Minute), leaving)), said{healthy, "Scaling", same}},
	}.run(t)
}

func TestHealing(t *testing.T) {
	dead, dying := down(6*time.Minute), down(4*time.Minute)
	const tooMany, replacing = "TooManyUnhealthy", "Replacing"
	planTests{
		"Dying":     {"A node may be unready for a while.", want(2), machines(made("a"), made("b", dying)), said{healthy, "Scaling", same}},
		"Dead":      {"A node that is unready for too long is replaced at once.", want(2), machines(made("a"), made("b", dead)), said{"-b Replacing", "Scaling", same}},
		"Alone":     {"The only machine of a pool can be replaced: the budget is at least one.", want(1), machines(made("a", dead)), said{"-a Replacing", "Scaling", same}},
		"ThreeOf4":  {"Three of four dead at once: nothing is killed.", want(4), machines(made("a", dead), made("b", dead), made("c", dead), made("d")), said{tooMany, "Scaling", same}},
		"Race":      {"The first one's time has passed, the others are unready already: nothing is killed.", want(4), machines(made("a", dead), made("b", dying), made("c", dying), made("d")), said{tooMany, "Scaling", same}},
		"RaceOf2":   {"One unready machine beside the dead one is above the budget of one.", want(4), machines(made("a", dead), made("b", dying), made("c"), made("d")), said{tooMany, "Scaling", same}},
		"AllDying":  {"Too many are unready, but none is up for replacement: nothing is said.", want(4), machines(made("a", dying), made("b", dying), made("c", dying), made("d")), said{healthy, "Scaling", same}},
		"TwoOf5":    {"40 % of 5 are two.", want(5), machines(made("a", dead), made("b", dead), made("c"), made("d"), made("e")), said{"-a -b Replacing", "Scaling", same}},
		"ThreeOf5":  {"And not three.", want(5), machines(made("a", dead), made("b", dead), made("c", dead), made("d"), made("e")), said{tooMany, "Scaling", same}},
		"Number":    {"The budget as a number.", want(2, unhealthy("2")), machines(made("a", dead), made("b", dead)), said{"-a -b Replacing", "Scaling", same}},
		"NoBudget":  {"0 turns replacement off.", want(2, unhealthy("0")), machines(made("a", dead), made("b")), said{tooMany, "Scaling", same}},
		"NoPercent": {"0 % too.", want(2, unhealthy("0%")), machines(made("a", dead), made("b")), said{tooMany, "Scaling", same}},
		"Starting":  {"A machine that starts is not unhealthy, and does not use up the budget.", want(4), machines(made("a", dead), made("b", starting(time.Minute)), made("c"), made("d")), said{"-a Replacing", "Scaling", same}},
		"NeverJoin": {"A machine that does not join in time is replaced.", want(2), machines(made("a", starting(16*time.Minute)), made("b")), said{"-a Replacing", "Scaling", same}},
		"NoneJoins": {"When none joins the machines are not the cause.", want(3), machines(made("a", starting(16*time.Minute)), made("b", starting(16*time.Minute)), made("c", starting(16*time.Minute))), said{tooMany, "Scaling", same}},
		"Mixed":     {"Both sorts use up one budget.", want(4), machines(made("a", starting(16*time.Minute)), made("b", dying), made("c"), made("d")), said{tooMany, "Scaling", same}},
		"Leaving":   {"A machine that leaves is not replaced once more.", want(2), machines(made("a"), made("b", dead, leaving), made("c")), said{healthy, "Scaling", same}},
		"Unseen":    {"It could not be seen: that is no reason to kill.", want(2), machines(made("a"), made("b", unseen(time.Hour))), said{healthy, "Scaling", same}},
		"UnseenToo": {"But a reason to be careful.", want(4), machines(made("a", dead), made("b", unseen(time.Minute)), made("c"), made("d")), said{tooMany, "Scaling", same}},
		"Manual":    {"Only its owner can replace a machine that a user joined.", want(2, bringing), machines(made("a", manual, dead), made("b", manual)), said{"NotReplaced", "Scaling", same}},
		"ManualNew": {"When a user joins a machine is not known.", want(1, bringing), machines(made("a", manual, starting(time.Hour))), said{healthy, "Scaling", same}},
		"ManualToo": {"Machines that users joined use up the budget of others.", want(4), machines(made("a", manual, dead), made("b", dead), made("c"), made("d")), said{tooMany, "Scaling", "+1 Updating"}},
		"Restarted": {"What was seen before KQueen stopped does not count.", want(1, func(w *wish) { w.since = noon.Add(-4 * time.Minute) }), machines(made("a", down(time.Hour))), said{healthy, "Scaling", same}},
		"Since":     {"But the time since does.", want(1, func(w *wish) { w.since = noon.Add(-6 * time.Minute) }), machines(made("a", down(time.Hour))), said{"-a Replacing", "Scaling", same}},
		"NoWord":    {"A machine that had joined and says nothing is not ready since.", want(1), machines(made("a", func(m *v1alpha1.Machine) { m.Status.Conditions = nil })), said{"-a Replacing", "Scaling", same}},
		"Refused":   {"A machine that could not be made again is kept.", want(2, refusing), machines(made("a", dead), made("b")), said{"NotReplaced", "Scaling", "Refused"}},
		"AndDown":   {"Scaling down would take the dead one too, and no other for it.", want(1), machines(made("a", dead), made("b")), said{"-a Replacing", "-a Scaling", same}},
	}.run(t)
}

func bringing(w *wish) { w.pool.Spec.Template.Provider = v1alpha1.ProviderManual }

func TestUpdating(t *testing.T) {
	all := func(names string, changes ...change) (out []v1alpha1.Machine) {
		for name := range strings.FieldsSeq(names) {
			out = append(out, made(name, changes...))
		}
		return out
	}
	plus := func(m []v1alpha1.Machine, more ...v1alpha1.Machine) []v1alpha1.Machine { return append(m, more...) }
	young := starting(time.Minute)
	planTests{
		"Surge":        {"One above what is wanted, before one goes.", want(3), all("a b c", old), said{healthy, full, "+1 Updating"}},
		"SurgeStarts":  {"Nothing goes before the new one is ready.", want(3), plus(all("a b c", old), made("n", young)), said{healthy, full, "Updating"}},
		"SurgeReady":   {"Then one goes.", want(3), plus(all("a b c", old), made("n")), said{healthy, full, "-a Updating"}},
		"NextSurge":    {"And the next comes, although the first is still leaving.", want(3), plus(all("b c", old), made("n"), made("a", old, leaving)), said{healthy, full, "+1 Updating"}},
		"Last":         {"The last goes, no other comes.", want(3), plus(all("c", old), made("l"), made("m"), made("n")), said{healthy, full, "-c Updating"}},
		"LastLeaves":   {"It is not done while the last one leaves.", want(3), plus(all("l m n"), made("c", old, leaving)), said{healthy, full, "Updating"}},
		"Unavailable":  {"Without surge one goes first.", want(3, rollout("0", "1")), all("a b c", old), said{healthy, full, "-a Updating"}},
		"UnavailNext":  {"Then another comes.", want(3, rollout("0", "1")), all("b c", old), said{healthy, "+1 Scaling", "Updating"}},
		"UnavailWait":  {"And is waited for.", want(3, rollout("0", "1")), plus(all("b c", old), made("n", young)), said{healthy, "Scaling", "Updating"}},
		"Both":         {"Both at once.", want(4, rollout("1", "1")), all("a b c d", old), said{healthy, full, "-a +1 Updating"}},
		"Percent":      {"Surge is rounded up, unavailable down.", want(5, rollout("25%", "25%")), all("a b c d e", old), said{healthy, full, "-a +2 Updating"}},
		"BothNothing":  {"A quarter of two machines is none; one goes nevertheless, or nothing would ever change.", want(2, rollout("0", "25%")), all("a b", old), said{healthy, full, "-a Updating"}},
		"BadTemplate":  {"New machines that never come up are the first to go when the template is mended.", want(3), plus(all("a b c"), made("bad", old, young)), said{healthy, full, "-bad Updating"}},
		"OldNotReady":  {"An old machine that is not ready goes first.", want(3), plus(all("a b", old), made("z", old, down(time.Minute)), made("n")), said{healthy, full, "-z Updating"}},
		"NoneNeeded":   {"There are enough new ones already, though more might be there.", want(3, rollout("2", "0")), plus(all("a", old), made("l"), made("m"), made("n", young)), said{healthy, full, "Updating"}},
		"OldBlinks":    {"An old one that is not ready may come back, and the new one may never: it is kept until then.", want(3), plus(all("a b", old), made("z", old, down(time.Minute)), made("n", young)), said{healthy, "Scaling", "Updating"}},
		"NotBelow":     {"Nothing ready goes while too few are ready.", want(3), plus(all("a b", old), made("m", young), made("n", young)), said{healthy, "Scaling", "Updating"}},
		"ScaleDown":    {"Fewer are wanted in the middle of it: those that are no help go at once.", want(2), plus(all("a b c d", old), made("n", young)), said{healthy, "-n -a Scaling", "Updating"}},
		"DownByOne":    {"One fewer is wanted: no new one is needed for the first to go.", want(2), all("a b c", old), said{healthy, full, "-a Updating"}},
		"DownToNone":   {"None are wanted: there is nothing to replace by.", want(0), all("a b", old), said{healthy, "-a -b Scaling", "Updating"}},
		"ChosenNew":    {"The user chose a new one while old ones are replaced: that one goes.", want(3), plus(all("a", old), made("l", chosen), made("m"), made("n")), said{healthy, "-l Scaling", "Updating"}},
		"ChosenWaits":  {"But not while too few are ready.", want(3), plus(all("a", old), made("l", chosen), made("m"), made("n", young)), said{healthy, full, "Updating"}},
		"ScaleUp":      {"More are wanted in the middle of it: they are made first.", want(5), all("a b c", old), said{healthy, "+2 Scaling", "Updating"}},
		"OtherVersion": {"What is older and what is newer is outdated alike.", want(1), machines(made("a", func(m *v1alpha1.Machine) { m.Spec.Version = "v1.36.4" })), said{healthy, full, "+1 Updating"}},
		"Provider":     {"Another provider is another machine.", want(1, bringing), all("a"), said{healthy, full, "+1 Updating"}},
		"Refused":      {"A version that cannot be had changes nothing, and says so.", want(2, refusing), all("a b", old), said{healthy, full, "Refused"}},
		"RefusedDown":  {"Scaling down goes on.", want(1, refusing), all("a b", old), said{healthy, "-a Scaling", "Refused"}},
		"RefusedUp":    {"Scaling up does not.", want(3, refusing), all("a b", old), said{healthy, "Scaling", "Refused"}},
		"Unhealthy":    {"A dead one does not keep the new ones from coming.", want(3), plus(all("a b", old), made("z", old, down(time.Hour))), said{"-z Replacing", "Scaling", "+1 Updating"}},
	}.run(t)
}

func TestTemplateParameters(t *testing.T) {
	raw := func(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
	with := func(j *apiextensionsv1.JSON) shape { return func(w *wish) { w.pool.Spec.Template.Parameters = j } }
	resources := func(cpu string) *v1alpha1.MachineResources {
		return &v1alpha1.MachineResources{CPU: ptr.To(resource.MustParse(cpu))}
	}
	sized := func(cpu string) shape { return func(w *wish) { w.pool.Spec.Template.Resources = resources(cpu) } }
	size := func(cpu string) change { return func(m *v1alpha1.Machine) { m.Spec.Resources = resources(cpu) } }
	has := func(j *apiextensionsv1.JSON) change { return func(m *v1alpha1.Machine) { m.Spec.Parameters = j } }
	planTests{
		"Same":        {"Spaces and order mean nothing.", want(1, with(raw(`{"a":1,"b":[2]}`))), machines(made("a", has(raw(`{"b": [2], "a": 1}`)))), said{healthy, full, same}},
		"Other":       {"Another value is another machine.", want(1, with(raw(`{"a":1}`))), machines(made("a", has(raw(`{"a":2}`)))), said{healthy, full, "+1 Updating"}},
		"Added":       {"So is a first one.", want(1, with(raw(`{"a":1}`))), machines(made("a")), said{healthy, full, "+1 Updating"}},
		"Removed":     {"And none any more.", want(1), machines(made("a", has(raw(`{"a":2}`)))), said{healthy, full, "+1 Updating"}},
		"Empty":       {"No settings are no settings.", want(1, with(raw(`{}`))), machines(made("a")), said{healthy, full, same}},
		"SameSize":    {"However it is written.", want(1, sized("2")), machines(made("a", size("2000m"))), said{healthy, full, same}},
		"OtherSize":   {"Another size is another machine.", want(1, sized("2")), machines(made("a", size("1"))), said{healthy, full, "+1 Updating"}},
		"SizeAdded":   {"So is a first one.", want(1, sized("2")), machines(made("a")), said{healthy, full, "+1 Updating"}},
		"SizeRemoved": {"And none any more.", want(1), machines(made("a", size("1"))), said{healthy, full, "+1 Updating"}},
		"NoSize":      {"Nothing said is no size.", want(1, func(w *wish) { w.pool.Spec.Template.Resources = &v1alpha1.MachineResources{} }), machines(made("a")), said{healthy, full, same}},
		"Labels": {
			"Labels, taints and drain are followed in place, by machines that leave too.",
			want(2, func(w *wish) {
				w.pool.Spec.Template.Labels = map[string]string{"tier": "web"}
				w.pool.Spec.Template.Taints = []corev1.Taint{{Key: "web", Effect: corev1.TaintEffectNoSchedule}}
				w.pool.Spec.Template.Drain.TimeoutSeconds = ptr.To[int32](60)
			}),
			machines(made("a"), made("b"), made("c", leaving)), said{healthy, "Scaling", "~a ~b ~c Updated*"},
		},
		"LabelLost": {"A user took the label of the pool away.", want(1), machines(made("a", func(m *v1alpha1.Machine) { delete(m.Labels, v1alpha1.LabelNodePool) })), said{healthy, full, "~a Updated*"}},
	}.run(t)
}
