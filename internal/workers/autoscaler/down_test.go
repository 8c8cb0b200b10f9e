package autoscaler

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations = map[string]string{key: value} }
}

func inKubeSystem(p *corev1.Pod) { p.Namespace = "kube-system" }

func bare(p *corev1.Pod) { p.OwnerReferences = nil }

func withDir(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "cache", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}

// budget is one for the pods of an app in a namespace.
func (s *scene) budget(namespace string, allowed int32) {
	s.Budgets = append(s.Budgets, Budget{Selected{namespace, labels.SelectorFromSet(labels.Set{"app": "web"})}, "keep", allowed})
}

// TestWhyNodesStay is about the node a-0, of two that are ready; no node was needed for a long time.
func TestWhyNodesStay(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		scene  func(*scene)
		says   string // empty when its machine goes
	}{
		"Empty":     {"Nothing is on it.", func(*scene) {}, ""},
		"Daemons":   {"What DaemonSets run goes with it.", func(s *scene) { s.pod("x", "1", "a-0", daemon) }, ""},
		"Mirror":    {"So does what the kubelet runs by itself.", func(s *scene) { s.pod("x", "1", "a-0", annotated(corev1.MirrorPodAnnotationKey, "h")) }, ""},
		"Movable":   {"Its pods have a place on the other node.", func(s *scene) { s.pod("x", "1", "a-0"); s.pod("y", "1", "a-0") }, ""},
		"Full":      {"They have none.", func(s *scene) { s.pod("x", "1500m", "a-0"); s.pod("y", "1", "a-1") }, "pod shop/x has no place on another node"},
		"Together":  {"Each has one, and both have none.", func(s *scene) { s.pod("x", "1500m", "a-0"); s.pod("y", "500m", "a-0"); s.pod("z", "500m", "a-1") }, "pod shop/y has no place on another node"},
		"Apart":     {"The pod there keeps it away.", func(s *scene) { s.pod("x", "1", "a-0", apartBy(corev1.LabelHostname)); s.pod("y", "1", "a-1") }, "pod shop/x has no place on another node"},
		"Bare":      {"None would run it elsewhere.", func(s *scene) { s.pod("x", "1", "a-0", bare) }, "pod shop/x has no controller that would run it elsewhere"},
		"BareSafe":  {"Its user says that it may go.", func(s *scene) { s.pod("x", "1", "a-0", bare, annotated(annotationSafe, "true")) }, ""},
		"Unsafe":    {"Its user says that it may not.", func(s *scene) { s.pod("x", "1", "a-0", annotated(annotationSafe, "false")) }, "pod shop/x must not be evicted"},
		"Data":      {"Its data would be lost.", func(s *scene) { s.pod("x", "1", "a-0", withDir) }, "pod shop/x has data on the node, in its volume cache"},
		"SafeData":  {"Not of that volume.", func(s *scene) { s.pod("x", "1", "a-0", withDir, annotated(annotationSafeVolumes, "logs,cache")) }, ""},
		"System":    {"Kubernetes may need it.", func(s *scene) { s.pod("x", "1", "a-0", inKubeSystem) }, "pod kube-system/x is of kube-system and has no PodDisruptionBudget"},
		"SystemMay": {"A budget says when it may go.", func(s *scene) { s.pod("x", "1", "a-0", inKubeSystem); s.budget("kube-system", 1) }, ""},
		"Budget":    {"A budget lets none go.", func(s *scene) { s.pod("x", "1", "a-0"); s.budget("shop", 0) }, "pod shop/x may not leave now, by the PodDisruptionBudget keep"},
		"OfAnother": {"A budget of another namespace.", func(s *scene) { s.pod("x", "1", "a-0"); s.budget("bank", 0) }, ""},
		"Ending": {"A pod that ends is not moved.", func(s *scene) {
			s.pod("x", "2", "a-0", bare, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: noon} })
		}, ""},
		"KeptByUser": {"Its user keeps the node.", func(s *scene) { s.Nodes[0].Annotations = map[string]string{annotationKeptByUser: "true"} }, "its annotation cluster-autoscaler.kubernetes.io/scale-down-disabled keeps it"},
		"Waits":      {"A pod waits that has a place there.", func(s *scene) { s.pod("y", "2", "a-1", bare); s.pod("x", "1", "") }, "pod shop/x waits and has a place here"},
		"Least":      {"The pool may have no fewer.", func(s *scene) { s.pools[0].Min = 2 }, "the pool has as few machines as it may have (minReplicas 2)"},
		"NotReady":   {"It may be starting.", func(s *scene) { s.Nodes[0].Status.Conditions = nil }, "it is not ready"},
		"Cordoned":   {"A node that takes no pods is of no need.", func(s *scene) { s.Nodes[0].Spec.Unschedulable = true }, ""},
		"Addon":      {"Nothing else runs in the cluster.", func(s *scene) { s.addons(); s.pod("x", "1", "a-0", addonPod) }, ""},
		"AddonOf":    {"Others run, and the addon has no other place.", func(s *scene) { s.addons(); s.pod("x", "1", "a-0", addonPod); s.pod("y", "2", "a-1", bare) }, "pod kube-system/x has no place on another node"},
		"AddonMoves": {"Others run, and the addon has another place.", func(s *scene) { s.addons(); s.pod("x", "1", "a-0", addonPod); s.pod("y", "1", "a-1", bare) }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{idle: map[types.UID]time.Time{"a-0": noon.Add(-time.Hour)}}
			s.pool("a", 2, 5, 2)
			c.scene(s)
			d := s.plan().Pools["a"]
			says := d.Nodes[0].Message
			if c.says == "" && (d.Remove != "a-0" || d.Replicas != 1 || d.Why == "") {
				t.Errorf("%s %+v: want the machine of a-0 to go", c.reason, d)
			}
			if c.says != "" && (d.Remove == "a-0" || !strings.Contains(says, c.says)) {
				t.Errorf("%s It says %q and removes %q, want %q", c.reason, says, d.Remove, c.says)
			}
		})
	}
}

// TestWhichGoes: one at a time, after its time, and none while anything else changes.
func TestWhichGoes(t *testing.T) {
	long := noon.Add(-time.Hour)
	for name, c := range map[string]struct {
		reason string
		scene  func(*scene)
		remove string
		says   string
	}{
		"FewestPods": {"The one that moves the fewest.", func(s *scene) {
			s.pod("x", "100m", "a-0")
			s.idle["a-0"], s.idle["a-1"] = long, long.Add(time.Second)
		}, "a-1", ""},
		"Longest":  {"The one that was not needed first.", func(s *scene) { s.idle["a-0"], s.idle["a-1"] = long.Add(time.Second), long }, "a-1", ""},
		"TooEarly": {"Not before its time.", func(s *scene) { s.idle["a-0"] = noon.Add(-59 * time.Second) }, "", ""},
		"Fresh":    {"After a restart time begins again.", func(s *scene) { s.idle = nil }, "", ""},
		"OneGoes":  {"Another one is going.", func(s *scene) { s.idle["a-0"] = long; s.pools[0].Replicas = 1; s.pools[0].Machines[1].Leaving = true }, "", "node a-1 is being removed; others follow one by one"},
		"Grows": {"Its pool, or another one, grows.", func(s *scene) {
			s.idle["a-0"] = long
			s.pool("b", 0, 9, 0).Template = nodeLike("", "4")
			s.podsOf(1, "3")
		}, "", "no node is removed while a pool is made larger"},
		"Held":    {"Its machines are being replaced.", func(s *scene) { s.idle["a-0"] = long; s.pools[0].Held = "machines of the pool are being replaced" }, "", "no node is removed: machines of the pool are being replaced"},
		"NoScale": {"A user says how many machines it has.", func(s *scene) { s.idle["a-0"] = long; s.pools[0].Scales = false }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &scene{idle: map[types.UID]time.Time{}}
			s.pool("a", 2, 5, 2)
			c.scene(s)
			d := s.plan().Pools["a"]
			if d.Remove != c.remove || !strings.Contains(d.Message, c.says) {
				t.Errorf("%s It removes %q and says %q; want %q and %q", c.reason, d.Remove, d.Message, c.remove, c.says)
			}
		})
	}
}

// TestIdleTime: it goes on while a node is not needed, and begins again when it was.
func TestIdleTime(t *testing.T) {
	s := &scene{idle: map[types.UID]time.Time{"a-0": noon.Add(-time.Second), "a-1": noon.Add(-time.Second), "gone": noon}}
	s.pool("a", 2, 5, 2)
	s.pod("x", "1", "a-1", bare)
	if diff := cmp.Diff(map[types.UID]time.Time{"a-0": noon.Add(-time.Second)}, s.plan().Idle); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	want := "not needed since 2026-05-04T11:59:59Z; its machine goes after 1m0s"
	if got := s.plan().Pools["a"].Nodes[0].Message; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// TestTriedIsTakenBack: what was tried for one node is not there for the next.
func TestTriedIsTakenBack(t *testing.T) {
	s := &scene{idle: map[types.UID]time.Time{}}
	s.pool("a", 3, 5, 3)
	for i, cpu := range []string{"1", "1", "2"} {
		s.pod(string(rune('x'+i)), cpu, s.pools[0].Machines[i].Name)
	}
	d := s.plan()
	if _, first := d.Idle["a-0"]; !first || len(d.Idle) != 2 {
		t.Errorf("want the first two, each of which has a place on the other, not to be needed: %v, %v", d.Idle, d.Pools["a"].Nodes)
	}
}

func TestUntilNext(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		due    time.Time
		took   time.Duration
		want   time.Duration
	}{
		"Usual":  {"Nothing is waited for.", time.Time{}, time.Millisecond, interval},
		"Due":    {"A node may go before.", noon.Add(3 * time.Second), time.Millisecond, 3 * time.Second},
		"Now":    {"It may go now.", noon, time.Millisecond, soonest},
		"Later":  {"It may go much later.", noon.Add(time.Hour), time.Millisecond, interval},
		"Costly": {"A look that takes long is followed by a longer rest.", noon, time.Second, 20 * time.Second},
	} {
		if got := untilNext(c.due, noon, c.took); got != c.want {
			t.Errorf("%s: %s got %s, want %s", name, c.reason, got, c.want)
		}
	}
}
