package machinecontroller

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/workers/machine"
)

func taint(text string) corev1.Taint {
	key, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(key, "=")
	return corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)}
}

func taintsOf(texts ...string) []corev1.Taint {
	var out []corev1.Taint
	for _, text := range texts {
		out = append(out, taint(text))
	}
	return out
}

func TestSynced(t *testing.T) {
	type labels = map[string]string
	tests := map[string]struct {
		reason     string
		have       labels
		taints     []string
		wanted     labels
		wantTaints []string
		had        record
		labels     labels
		after      []string
		differs    bool
	}{
		"Nothing":        {reason: "What is as wanted is no change.", have: labels{"a": "1"}, wanted: labels{"a": "1"}, labels: labels{"a": "1"}},
		"Add":            {reason: "What is missing is set, beside what others set.", have: labels{"x": "y"}, wanted: labels{"a": "1"}, labels: labels{"a": "1", "x": "y"}, differs: true},
		"Change":         {reason: "Another value is set.", have: labels{"a": "0"}, wanted: labels{"a": "1"}, labels: labels{"a": "1"}, differs: true},
		"Drop":           {reason: "What KQueen set and the spec no longer has goes.", have: labels{"a": "1", "x": "y"}, had: record{Labels: []string{"a"}}, labels: labels{"x": "y"}, differs: true},
		"KeepForeign":    {reason: "What we did not set stays.", have: labels{"a": "1"}, labels: labels{"a": "1"}},
		"TaintsKept":     {reason: "The order of those that are there is kept.", taints: []string{"n:NoSchedule", "a=1:NoExecute"}, wantTaints: []string{"a=1:NoExecute"}, had: record{Taints: []string{"a:NoExecute"}}, after: []string{"n:NoSchedule", "a=1:NoExecute"}},
		"TaintAdded":     {reason: "A new one comes last.", taints: []string{"n:NoSchedule"}, wantTaints: []string{"a=1:NoExecute"}, after: []string{"n:NoSchedule", "a=1:NoExecute"}, differs: true},
		"TaintChanged":   {reason: "Another value takes the place.", taints: []string{"a=0:NoExecute"}, wantTaints: []string{"a=1:NoExecute"}, after: []string{"a=1:NoExecute"}, differs: true},
		"TaintDropped":   {reason: "Ours goes, the foreign one stays.", taints: []string{"n:NoSchedule", "a=1:NoExecute"}, had: record{Taints: []string{"a:NoExecute"}}, after: []string{"n:NoSchedule"}, differs: true},
		"TaintEffect":    {reason: "Another effect of the same key is another taint.", taints: []string{"a:NoExecute"}, wantTaints: []string{"a:NoSchedule"}, had: record{Taints: []string{"a:NoExecute"}}, after: []string{"a:NoSchedule"}, differs: true},
		"TaintForeign":   {reason: "What we did not set stays.", taints: []string{"node.kubernetes.io/unreachable:NoExecute"}, after: []string{"node.kubernetes.io/unreachable:NoExecute"}},
		"TaintNotTheKey": {reason: "The record names key and effect.", taints: []string{"a:NoExecute"}, had: record{Taints: []string{"a:NoSchedule"}}, after: []string{"a:NoExecute"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tc.have}, Spec: corev1.NodeSpec{ProviderID: "id", Taints: taintsOf(tc.taints...)}}
			before := node.DeepCopy()
			got, differs := synced(node, tc.wanted, taintsOf(tc.wantTaints...), "other", tc.had)
			if tc.labels == nil {
				tc.labels = labels{}
			}
			if diff := cmp.Diff(tc.labels, got.Labels); diff != "" {
				t.Errorf("%s: labels (-want +got):\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(taintsOf(tc.after...), got.Spec.Taints); diff != "" {
				t.Errorf("%s: taints (-want +got):\n%s", tc.reason, diff)
			}
			if differs != tc.differs || got.Spec.ProviderID != "id" {
				t.Errorf("%s: differs is %v, want %v; providerID %s", tc.reason, differs, tc.differs, got.Spec.ProviderID)
			}
			if diff := cmp.Diff(before, node); diff != "" {
				t.Errorf("the node that was handed in has changed:\n%s", diff)
			}
		})
	}
}

func TestBounds(t *testing.T) {
	other := v1alpha1.Machine{Status: v1alpha1.MachineStatus{Address: "10.9.0.3", PodCIDR: "10.244.3.0/24"}}
	limits := bounds{pods: netip.MustParsePrefix("10.244.0.0/16"), services: netip.MustParsePrefix("10.96.0.0/16"), server: "192.0.2.1", others: []v1alpha1.Machine{other}}
	addresses := map[string]string{
		"10.9.0.2": "10.9.0.2", "::ffff:10.9.0.2": "10.9.0.2", "fd00::2": "fd00::2",
		"10.9.0.3": "", "192.0.2.1": "", "10.96.0.1": "", "10.244.3.7": "", "127.0.0.1": "", "0.0.0.0": "", "224.0.0.1": "", "169.254.1.1": "", "::1": "", "fe80::1%eth0": "", "host": "", "": "",
	}
	for claim, wanted := range addresses {
		node := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeExternalIP, Address: "8.8.8.8"}, {Type: corev1.NodeInternalIP, Address: claim}}}}
		got := ""
		if own := limits.address(node); len(own) > 0 {
			got = own[0].String()
		}
		if got != wanted {
			t.Errorf("of the address %q is taken %q, want %q", claim, got, wanted)
		}
	}
	ranges := map[string]bool{
		"10.244.7.0/24": true, "10.244.3.0/24": false, "10.244.0.0/16": false, "10.244.3.128/25": false, "0.0.0.0/0": false, "10.0.0.0/8": false,
		"10.245.0.0/24": false, "10.244.7.1/24": false, "fd00::/64": false, "x": false, "": false,
	}
	for claim, wanted := range ranges {
		if got := limits.podCIDR(&corev1.Node{Spec: corev1.NodeSpec{PodCIDR: claim}}); got.IsValid() != wanted {
			t.Errorf("the range %q is taken as %v, want %v", claim, got, wanted)
		}
	}
	many := &corev1.Node{}
	for _, a := range []string{"10.9.0.2", "10.9.0.9", "fd00::2", "fd00::9"} {
		many.Status.Addresses = append(many.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: a})
	}
	if got := fmt.Sprint(limits.address(many)); got != "[10.9.0.2 fd00::2]" {
		t.Errorf("of many addresses are taken %s", got)
	}
}

func TestTidy(t *testing.T) {
	tests := map[string]string{
		"":           "",
		" a \n b\tc": "a b c",
		"PLEG is not healthy: pleg was last seen active 3m2.5s ago; threshold is 3m0s.": "PLEG is not healthy: pleg was last seen active some time ago; threshold is some time.",
		"since 2026-11-21T10:00:00Z (now)":                                              "since some time (now)",
		"a\x00b\x1b[31mred":                                                             "a b [31mred",
		"0 pods":                                                                        "0 pods",
		strings.Repeat("ä", 300):                                                        strings.Repeat("ä", 198) + "…",
		strings.Repeat("x", 400):                                                        strings.Repeat("x", 400),
		"bad \xff utf-8":                                                                "bad ? utf-8",
		"NetworkReady=false reason:NotReady":                                            "NetworkReady=false reason:NotReady",
	}
	for words, wanted := range tests {
		if got := tidy(words, longestWords); got != wanted || len(got) > longestWords {
			t.Errorf("%q becomes %q, want %q", words, got, wanted)
		}
	}
}

func TestUnreachable(t *testing.T) {
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: "demo"}}
	for part, err := range map[string]error{
		"no answer in time": fmt.Errorf("get: %w", context.DeadlineExceeded), "nothing listens": fmt.Errorf("dial tcp 127.0.0.1:1->2: %w", syscall.ECONNREFUSED),
		"the connection failed": errors.New("read tcp 127.0.0.1:41234->127.0.0.1:6443: reset"),
	} {
		if got := unreachable(cluster, err).Error(); !strings.Contains(got, part) || strings.Contains(got, "127.0.0.1") {
			t.Errorf("%v becomes %q, want %q in it and no address", err, got, part)
		}
	}
}

func TestJudgeMachine(t *testing.T) {
	for state, wanted := range map[machine.State]string{
		machine.Running: "done MachineRunning: x", machine.Creating: "warn MachineCreating: x", machine.Preparing: "wait MachineCreating: x", machine.Awaiting: "warn AwaitingJoin: x", machine.Failing: "warn MachineFailed: x",
		"Odd": `stalled MachineFailed: the provider reports the state "Odd", which is none`,
	} {
		if got := judgeMachine(machine.Observed{State: state, Message: "x"}, false).String(); got != wanted {
			t.Errorf("%s is %q, want %q", state, got, wanted)
		}
	}
}

func TestDead(t *testing.T) {
	now := time.Now()
	node := func(status corev1.ConditionStatus, since time.Duration) *corev1.Node {
		return &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(now.Add(-since))}}}}
	}
	mute := &corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	for _, tc := range []struct {
		node *corev1.Node
		want bool
	}{
		{node(corev1.ConditionTrue, time.Hour), false}, {node(corev1.ConditionFalse, time.Second), false}, {node(corev1.ConditionFalse, time.Minute), true},
		{node(corev1.ConditionUnknown, time.Minute), true}, {mute, true}, {&corev1.Node{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now)}}, false},
	} {
		if got := dead(tc.node, now); got != tc.want {
			t.Errorf("%+v is dead: %v, want %v", tc.node.Status.Conditions, got, tc.want)
		}
	}
}

func TestNameLeft(t *testing.T) {
	var left []kube.Blocked
	for i := range 6 {
		left = append(left, kube.Blocked{Namespace: "n", Name: fmt.Sprint("p", i), Why: "is ending", Leaving: i != 5})
	}
	left[5].Why = "may not leave yet"
	if got := nameLeft(left); got != "6 pods: n/p5 may not leave yet; n/p0 is ending; n/p1 is ending and 3 more" {
		t.Errorf("got %q", got)
	}
}

func TestRecord(t *testing.T) {
	m := &v1alpha1.Machine{}
	for _, bad := range []string{"", "x", `{"labels":3}`, `[]`} {
		m.Annotations = map[string]string{annotationRecord: bad}
		if got := recordOf(m); !got.equal(record{}) {
			t.Errorf("%q is read as %+v", bad, got)
		}
	}
	a := recordFor("c", map[string]string{"x": "", "a": ""}, taintsOf("k=1:NoSchedule"))
	b := a.with(recordFor("c", map[string]string{"b": ""}, taintsOf("k=2:NoSchedule", "l:NoExecute")))
	if diff := cmp.Diff(record{Cluster: "c", Labels: []string{"a", "b", "x"}, Taints: []string{"k:NoSchedule", "l:NoExecute"}}, b); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKeepImported(t *testing.T) {
	set := map[string]string{v1alpha1.LabelAddonImages: v1alpha1.AddonImagesImported}
	tests := map[string]struct {
		reason string
		have   map[string]string
		had    record
		want   map[string]string
	}{
		"NotYet":   {reason: "A node that has not imported them is left without.", want: map[string]string{"a": "1"}},
		"Seen":     {reason: "What the machine says is kept.", have: set, want: map[string]string{"a": "1", v1alpha1.LabelAddonImages: "imported"}},
		"Recorded": {reason: "The Node has registered again.", had: record{Labels: []string{v1alpha1.LabelAddonImages}}, want: map[string]string{"a": "1", v1alpha1.LabelAddonImages: "imported"}},
		"Other":    {reason: "Another value says nothing.", have: map[string]string{v1alpha1.LabelAddonImages: "no"}, want: map[string]string{"a": "1"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			labels := map[string]string{"a": "1"}
			keepImported(labels, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: tc.have}}, tc.had)
			if diff := cmp.Diff(tc.want, labels); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWatches(t *testing.T) {
	named := func(namespace, name, cluster string) v1alpha1.Machine {
		return v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.MachineSpec{ClusterName: cluster}}
	}
	all := []v1alpha1.Machine{named("n", "a", "demo"), named("n", "b", "demo"), named("n", "c", "other"), named("m", "d", "demo")}
	if got := Peers(all, &all[0]); len(got) != 1 || got[0].Name != "b" {
		t.Errorf("peers of a are %v", got)
	}
	if got := OfCluster(all, &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "demo"}}); len(got) != 2 {
		t.Errorf("machines of the cluster are %v", got)
	}
	moved := all[0].DeepCopy()
	if Moved(&all[0], moved) {
		t.Error("what is the same has moved")
	}
	moved.Status.PodCIDR = "10.244.1.0/24"
	if !Moved(&all[0], moved) {
		t.Error("another range of pods is no move")
	}
}

// An administrator of the cluster can write any address into a Node: what a machine joined with stays.
func TestClaimed(t *testing.T) {
	addresses := func(texts ...string) (out []netip.Addr) {
		for _, text := range texts {
			out = append(out, netip.MustParseAddr(text))
		}
		return out
	}
	const gone = "; its node does not claim the address 10.9.0.7 any more, with which it joined: a machine that has moved is deleted and joined again"
	for name, c := range map[string]struct {
		joined      bool
		recorded    string
		claims      []netip.Addr
		want        []netip.Addr
		wantRemarks string
	}{
		"nothing is known":   {},
		"before it joined":   {recorded: "10.9.0.7", claims: addresses("10.9.0.8"), want: addresses("10.9.0.8")},
		"as it joined":       {joined: true, recorded: "10.9.0.7", claims: addresses("10.9.0.7"), want: addresses("10.9.0.7")},
		"another one":        {joined: true, recorded: "10.9.0.7", claims: addresses("10.9.0.8"), want: addresses("10.9.0.7"), wantRemarks: gone},
		"none":               {joined: true, recorded: "10.9.0.7", want: addresses("10.9.0.7"), wantRemarks: gone},
		"of another family":  {joined: true, recorded: "10.9.0.7", claims: addresses("fd00::8", "10.9.0.7"), want: addresses("10.9.0.7", "fd00::8")},
		"joined before that": {joined: true, claims: addresses("10.9.0.8"), want: addresses("10.9.0.8")},
	} {
		t.Run(name, func(t *testing.T) {
			m := &v1alpha1.Machine{Status: v1alpha1.MachineStatus{Address: c.recorded}}
			if c.joined {
				m.Status.JoinTime = &metav1.Time{}
			}
			got, remark := claimed(m, c.claims)
			if !slices.Equal(got, c.want) || remark != c.wantRemarks {
				t.Errorf("got %v%s, want %v%s", got, remark, c.want, c.wantRemarks)
			}
		})
	}
}

// TestReadiness: what a node said in an earlier life of its machine is not true of this one.
func TestReadiness(t *testing.T) {
	at := func(second int) metav1.Time { return metav1.Unix(int64(second), 0) }
	said := func(status corev1.ConditionStatus, second int) []corev1.NodeCondition {
		return []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, Message: "runc is gone", LastHeartbeatTime: at(second)}}
	}
	life := at(10)
	const earlier = "its kubelet has not said how the node is since the machine ended or began"
	tests := map[string]struct {
		conditions []corev1.NodeCondition
		life       *metav1.Time
		ready      bool
		why        string
	}{
		"says nothing":           {nil, &life, false, "the node has not said yet that it is ready"},
		"was ready":              {said(corev1.ConditionTrue, 9), &life, false, earlier},
		"was ready at that time": {said(corev1.ConditionTrue, 10), &life, false, earlier},
		"is ready":               {said(corev1.ConditionTrue, 11), &life, true, ""},
		"lives are not known":    {said(corev1.ConditionTrue, 9), nil, true, ""},
		"is not":                 {said(corev1.ConditionFalse, 9), &life, false, "the node is not ready: runc is gone"},
	}
	for name, tc := range tests {
		ready, why := readiness(&corev1.Node{Status: corev1.NodeStatus{Conditions: tc.conditions}}, tc.life)
		if ready != tc.ready || why != tc.why {
			t.Errorf("%s: got %t, %q; want %t, %q", name, ready, why, tc.ready, tc.why)
		}
	}
}
