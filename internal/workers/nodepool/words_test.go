package nodepool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// TestMessages: a condition says why, in words for users.
func TestMessages(t *testing.T) {
	dead := down(time.Hour)
	tests := map[string]struct {
		reason  string
		wish    wish
		have    []v1alpha1.Machine
		pick    func(decision) step
		message string
	}{
		"TooMany": {
			"It names the machines, what is allowed, and that nothing is done.", want(4),
			machines(made("a", dead), made("b", dead), made("c", down(time.Second)), made("d")), func(d decision) step { return d.heal },
			"3 of 4 machines are not ready (a, b, c), and spec.health.maxUnhealthy (40% of 4) allows 1: none is replaced, because the cause is probably not the machines",
		},
		"Replacing": {
			"It names the machines.", want(5), machines(made("b", dead), made("a", dead), made("c"), made("d"), made("e")), func(d decision) step { return d.heal },
			"not ready for too long and being replaced: a, b",
		},
		"Manual": {
			"It says what is to be done.", want(1, bringing), machines(made("a", manual, dead)), func(d decision) step { return d.heal },
			"not ready for too long, and not replaced because a user has to join another machine: a; repair them, or delete them once others are there",
		},
		"Refused": {
			"It names the field.", want(1, refusing), machines(made("a", old)), func(d decision) step { return d.update },
			"spec.version: too new",
		},
		"ScaledRefused": {
			"It says why none is made.", want(2, refusing), machines(made("a", old)), func(d decision) step { return d.scale },
			"2 machines wanted, 1 ready; none is created while the spec is refused",
		},
		"Scaling": {
			"It says how far it is.", want(3), machines(made("a", starting(time.Second)), made("b", leaving)), func(d decision) step { return d.scale },
			"3 machines wanted, 0 ready; 2 machines being created; not ready: a; being removed: b",
		},
		"ScalingCauses": {
			"It says why, once for those of the same cause.", want(4), machines(made("c", says("kubelet: too many open files")), made("a", says("kubelet: too many open files")), made("b", says("no address is free")), made("d")),
			func(d decision) step { return d.scale },
			"4 machines wanted, 1 ready; not ready: a, c: kubelet: too many open files; b: no address is free",
		},
		"Scaled":   {"One is one machine.", want(1), machines(made("a")), func(d decision) step { return d.scale }, "1 machine wanted, 1 ready"},
		"Updating": {"It names those that are not replaced yet.", want(2), machines(made("a", old), made("b")), func(d decision) step { return d.update }, "1 of 2 machines are up to date with the template and v1.36.3; older: a"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.message, tc.pick(plan(tc.wish, tc.have, noon)).say.message); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestMessagesStayShort: a status with a thousand machines of the longest names must pass the linter of the kit.
func TestMessagesStayShort(t *testing.T) {
	var have []v1alpha1.Machine
	for i := range 1000 {
		name := fmt.Sprintf("%s-%05d", strings.Repeat("n", 57), i)
		changes := [][]change{{old}, {down(time.Hour)}, {leaving}, {old, leaving}}[i%4]
		have = append(have, made(name, changes...))
	}
	d := plan(want(999), have, noon)
	for _, s := range []step{d.heal, d.scale, d.update} {
		p := &v1alpha1.NodePool{}
		p.UID, p.Generation, p.Status.ObservedGeneration = "some-uid", 1, 1
		for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
			p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{
				Type: kind, Status: truth(kind == v1alpha1.ConditionReconciling), Reason: s.say.reason, Message: s.say.message, ObservedGeneration: 1, LastTransitionTime: metav1.Now(),
			})
		}
		operatortest.CheckStatus(t, p)
	}
}

func truth(is bool) metav1.ConditionStatus {
	if is {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// TestNextLook: no watch tells that time has passed, so the plan says when it is up.
func TestNextLook(t *testing.T) {
	tests := map[string]struct {
		reason string
		have   []v1alpha1.Machine
		want   time.Duration
	}{
		"AllWell":  {"Nothing is waited for.", machines(made("a")), 0},
		"Dying":    {"The time that is left.", machines(made("a", down(4*time.Minute)), made("b")), time.Minute},
		"Soonest":  {"The first of several.", machines(made("a", down(4*time.Minute)), made("b", starting(time.Minute))), time.Minute},
		"Starting": {"A machine that starts.", machines(made("a", starting(time.Minute))), 14 * time.Minute},
		"Nearly":   {"A moment is a second at least.", machines(made("a", down(5*time.Minute-time.Millisecond))), time.Second},
		"Manual":   {"When a user joins a machine is not known.", machines(made("a", manual, starting(time.Minute))), 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := plan(want(2), tc.have, noon).update.say.after; got != tc.want {
				t.Errorf("%s want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	have := machines(made("a"), made("b", old), made("c", down(time.Minute)), made("d", leaving))
	d := plan(want(3), have, noon)
	if got := [3]int32{d.replicas, d.ready, d.updated}; got != [3]int32{3, 2, 2} {
		t.Errorf("want 3 machines, 2 ready, 2 updated, got %v", got)
	}
}

func TestFits(t *testing.T) {
	tests := map[string]struct {
		reason, cluster, kubelet string
		want                     []string
	}{
		"Same":       {"The cluster's own version.", "v1.36.3", "v1.36.3", nil},
		"ThreeOlder": {"Three minors older is the limit.", "v1.36.3", "v1.33.6", nil},
		"FourOlder":  {"Four are too many.", "v1.36.3", "v1.32.0", []string{"spec.version: ", "too old", "v1.33.x to v1.36.x"}},
		"Newer":      {"A kubelet is never newer.", "v1.36.3", "v1.37.0", []string{"spec.version: ", "too new", "upgrade the API server first"}},
		"NewerPatch": {"A patch is no minor.", "v1.36.1", "v1.36.3", nil},
		"NoVersion":  {"What the schema lets through and is no version.", "v1.36.3", "v0.1.2", []string{"spec.version: ", "v0.1.2"}},
		"OddCluster": {"A cluster that says nonsense.", "1.36", "v1.36.3", []string{"the cluster's version", "1.36"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := fits(tc.cluster, tc.kubelet)
			if (err != nil) != (tc.want != nil) {
				t.Fatalf("%s got %v", tc.reason, err)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s want %q in %q", tc.reason, part, err)
				}
			}
		})
	}
}

func TestSound(t *testing.T) {
	labels := func(key, value string) v1alpha1.MachineTemplate {
		return v1alpha1.MachineTemplate{Labels: map[string]string{"good": "", key: value}}
	}
	taint := func(key, value string) v1alpha1.MachineTemplate {
		return v1alpha1.MachineTemplate{Taints: []corev1.Taint{{Key: "good", Effect: "NoSchedule"}, {Key: key, Value: value}}}
	}
	tests := map[string]struct {
		reason   string
		template v1alpha1.MachineTemplate
		want     string
	}{
		"Empty":      {"Nothing is wrong with nothing.", v1alpha1.MachineTemplate{}, ""},
		"Label":      {"A good one.", labels("example.org/tier", "web"), ""},
		"LabelKey":   {"A space in a name.", labels("the tier", "web"), `spec.template.labels: Invalid value: "the tier"`},
		"LabelValue": {"A space in a value.", labels("tier", "the web"), `spec.template.labels: Invalid value: "the web"`},
		"Taint":      {"A good one.", taint("example.org/gpu", "yes"), ""},
		"TaintKey":   {"The place is named.", taint("g p u", ""), `spec.template.taints[1].key: Invalid value: "g p u"`},
		"TaintValue": {"The place is named.", taint("gpu", "y e s"), `spec.template.taints[1].value: Invalid value: "y e s"`},
		"Two":        {"Always the same one, whatever the order.", v1alpha1.MachineTemplate{Labels: map[string]string{"b b": "", "a a": "", "c c": ""}}, `spec.template.labels: Invalid value: "a a"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := refusal(sound(&tc.template)); !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
				t.Errorf("%s want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestSuffix(t *testing.T) {
	for range 1000 {
		if s := suffix(); len(s) != 5 || strings.Trim(s, "bcdfghjklmnpqrstvwxz2456789") != "" || s[0] < 'a' {
			t.Fatalf("the name would end in %q", s)
		}
	}
}

// says is a machine that has joined, is not ready, and says why.
func says(why string) change {
	return func(m *v1alpha1.Machine) {
		nodeIs(m, metav1.ConditionFalse, ago(time.Second))
		m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: why})
	}
}

// TestVersionOf: a pool that is held back keeps its version while that fits its cluster; one of its own counts before that.
func TestVersionOf(t *testing.T) {
	for name, c := range map[string]struct{ own, held, cluster, want string }{
		"Follows":  {"", "", "v1.37.2", "v1.37.2"},
		"Own":      {"v1.35.1", "v1.36.3", "v1.37.2", "v1.35.1"},
		"Held":     {"", "v1.36.3", "v1.37.2", "v1.36.3"},
		"TooOld":   {"", "v1.30.1", "v1.37.2", "v1.37.2"},
		"TooNew":   {"", "v1.38.0", "v1.37.2", "v1.37.2"},
		"Nonsense": {"", "old", "v1.37.2", "v1.37.2"},
	} {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.NodePool{Spec: v1alpha1.NodePoolSpec{Version: c.own}}
			if c.held != "" {
				p.Annotations = map[string]string{v1alpha1.AnnotationUpgradeHolds: c.held}
			}
			if got := versionOf(p, c.cluster); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}
