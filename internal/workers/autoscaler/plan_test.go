package autoscaler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

var noon = time.Date(2026, time.May, 4, 12, 0, 0, 0, time.UTC)

// scene is a cluster and its pools, as tests write them.
type scene struct {
	Seen
	pools []*Pool
	idle  map[types.UID]time.Time
}

func (s *scene) plan() Decision { return Plan(s.Seen, s.pools, s.idle, noon) }

func allocatable(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), corev1.ResourcePods: resource.MustParse("110")}
}

func nodeLike(name, cpu string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	n.Status.Allocatable = allocatable(cpu, "4Gi")
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return n
}

// pool is one of nodes with two processors, with so many of most machines, the first of which have nodes.
func (s *scene) pool(name string, replicas, most int32, nodes int) *Pool {
	p := &Pool{Name: name, Scales: true, Max: most, Replicas: replicas, Idle: time.Minute, Template: nodeLike("", "2")}
	for i := range int(replicas) {
		m := Machine{Name: fmt.Sprintf("%s-%d", name, i), UID: types.UID(fmt.Sprintf("%s-%d", name, i))}
		p.Machines = append(p.Machines, m)
		if i < nodes {
			s.Nodes = append(s.Nodes, nodeLike(m.Name, "2"))
		}
	}
	s.pools = append(s.pools, p)
	return p
}

// pod adds one that needs processors, of a Deployment, on a node or, where that is empty, on none although the scheduler has looked.
func (s *scene) pod(name, cpu, on string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", Controller: ptr.To(true)},
	}}}
	p.Spec.NodeName = on
	p.Spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	if on == "" {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}
	}
	for _, c := range change {
		c(p)
	}
	s.Pods = append(s.Pods, p)
	return p
}

func (s *scene) podsOf(n int, cpu string, change ...func(*corev1.Pod)) {
	for i := range n {
		s.pod(fmt.Sprintf("p%02d", i), cpu, "", change...)
	}
}

func daemon(p *corev1.Pod) {
	p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "DaemonSet", "agent"
}

func addonPod(p *corev1.Pod) {
	p.Namespace, p.Labels = "kube-system", map[string]string{"k8s-app": "dns"}
}

// addons has KQueen run the name service.
func (s *scene) addons() {
	s.Addons = []Selected{{"kube-system", labels.SelectorFromSet(labels.Set{"k8s-app": "dns"})}}
}

func apartBy(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, TopologyKey: key},
		}}}
	}
}

func spreadBy(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
			{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}
	}
}

func withClaim(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
}

func onHost(name string) *corev1.NodeSelector {
	return &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{name}},
	}}}}
}

// said is what a decision says of the pods that make the pool no larger, and in the message.
func said(d PoolDecision) string {
	words := []string{d.Message}
	for _, c := range d.Pending {
		words = append(words, c.Name+": "+c.Message)
	}
	return strings.Join(words, "\n")
}

// growing is a scene, how many machines the pool a has after it, and what it says.
type growing struct {
	reason string
	scene  func(*scene)
	want   int32
	says   string
}

type growings map[string]growing

func (all growings) run(t *testing.T) {
	for name, c := range all {
		t.Run(name, func(t *testing.T) {
			s := &scene{}
			c.scene(s)
			d := s.plan().Pools["a"]
			if d.Replicas != c.want || !strings.Contains(said(d), c.says) {
				t.Errorf("%s got %d machines, want %d; it says %q, want %q in it", c.reason, d.Replicas, c.want, said(d), c.says)
			}
			if replicas := s.pools[0].Replicas; d.Replicas > replicas != (d.Why != "") {
				t.Errorf("from %d to %d because of %q", replicas, d.Replicas, d.Why)
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	growings{
		"FromZero": {"The template says how large a node will be.", func(s *scene) { s.pool("a", 0, 5, 0); s.podsOf(3, "1500m") }, 3, ""},
		"Packed":   {"As many pods on a node as it takes.", func(s *scene) { s.pool("a", 0, 5, 0); s.podsOf(5, "500m") }, 2, ""},
		"AtMost":   {"Not above maxReplicas.", func(s *scene) { s.pool("a", 0, 2, 0); s.podsOf(9, "1500m") }, 2, "as many machines as it may have (maxReplicas 2)"},
		"TooLarge": {"No node of the pool would help.", func(s *scene) { s.pool("a", 0, 5, 0); s.podsOf(1, "3") }, 0, "shop/p00: on a new node: it needs 3 of cpu, and 2 is left"},
		"OnTheWay": {"Nodes that come count: nothing grows twice.", func(s *scene) { s.pool("a", 3, 9, 0); s.podsOf(3, "1500m") }, 3, "3 nodes on the way"},
		"NotReady": {"So does one that has registered and is not ready.", func(s *scene) { s.pool("a", 1, 9, 1); s.Nodes[0].Status.Conditions = nil; s.podsOf(1, "1500m") }, 1, "1 node on the way"},
		"Starting": {"Taints of its start are none for the pod.", func(s *scene) {
			s.pool("a", 1, 9, 1)
			s.Nodes[0].Status.Conditions, s.Nodes[0].Spec.Taints = nil, []corev1.Taint{{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}}
			s.podsOf(1, "1500m")
		}, 1, "1 node on the way"},
		"Partly":   {"More than come are needed.", func(s *scene) { s.pool("a", 2, 9, 1); s.podsOf(4, "1500m") }, 4, "1 node on the way"},
		"HasPlace": {"The scheduler has not looked again yet.", func(s *scene) { s.pool("a", 1, 9, 1); s.podsOf(1, "1500m") }, 1, ""},
		"Cordoned": {"A cordoned node takes no pods.", func(s *scene) { s.pool("a", 1, 9, 1); s.Nodes[0].Spec.Unschedulable = true; s.podsOf(1, "1500m") }, 2, ""},
		"Leaves":   {"A machine that leaves takes none, and the one for it comes.", func(s *scene) { s.pool("a", 1, 9, 1).Machines[0].Leaving = true; s.podsOf(1, "1500m") }, 1, "1 node on the way"},
		"Surge": {"A machine beyond replicas is on the way, too.", func(s *scene) {
			p := s.pool("a", 2, 9, 1)
			p.Replicas = 1
			s.pod("x", "2", "a-0")
			s.podsOf(1, "1500m")
		}, 1, "1 node on the way"},
		"Unlooked": {"Before the scheduler has looked nothing grows.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.podsOf(1, "1", func(p *corev1.Pod) { p.Status.Conditions = nil })
		}, 0, ""},
		"Gated": {"Nor for pods that must not be scheduled yet.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.podsOf(1, "1", func(p *corev1.Pod) { p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "g"}} })
		}, 0, ""},
		"Nominated": {"The scheduler is making a place.", func(s *scene) {
			s.pool("a", 1, 9, 1)
			s.podsOf(1, "2", func(p *corev1.Pod) { p.Status.NominatedNodeName = "a-0" })
		}, 1, ""},
	}.run(t)
}

// TestGrowthForWhatPodsAsk is about what pods say of the nodes that they run on.
func TestGrowthForWhatPodsAsk(t *testing.T) {
	growings{
		"Daemons": {"What DaemonSets take of a new node is not free.", func(s *scene) { s.pool("a", 0, 9, 0); s.daemonSet("600m", nil); s.podsOf(2, "750m") }, 2, ""},
		"NoDaemon": {"One that does not run there takes nothing.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.daemonSet("600m", map[string]string{"gpu": "yes"})
			s.podsOf(2, "750m")
		}, 1, ""},
		"DaemonPod": {"A pod of a DaemonSet is for its node alone.", func(s *scene) { s.pool("a", 0, 9, 0); s.podsOf(1, "1", daemon) }, 0, ""},
		"Taint": {"A pod has to tolerate the taints of the pool.", func(s *scene) {
			s.pool("a", 0, 9, 0).Template.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
			s.podsOf(1, "1")
		}, 0, "does not tolerate the taint gpu=yes:NoSchedule"},
		"Selector": {"The pool's labels have to be those that a pod asks for.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.podsOf(1, "1", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"tier": "web"} })
		}, 0, "node selector or node affinity asks for another node"},
		"Apart": {"One node for each.", func(s *scene) { s.pool("a", 0, 9, 0); s.podsOf(3, "100m", apartBy(corev1.LabelHostname)) }, 3, ""},
		"ApartFrom": {"A pod that is there keeps another one away, which does not say so itself.", func(s *scene) {
			s.pool("a", 1, 9, 1)
			s.pod("x", "100m", "a-0", apartBy(corev1.LabelHostname))
			s.podsOf(1, "100m")
		}, 2, ""},
		"Spread": {"Over as many nodes as they are pods, one more would break it.", func(s *scene) {
			s.pool("a", 1, 9, 1)
			s.pod("x", "2", "a-0")
			s.podsOf(2, "1", spreadBy(corev1.LabelHostname))
		}, 2, ""},
		"NoZone": {"No node of the pool is in a zone.", func(s *scene) { s.pool("a", 0, 9, 0); s.podsOf(1, "1", spreadBy("topology.kubernetes.io/zone")) }, 0, "would not be spread"},
		"Near":   {"The first of a group finds none of it.", func(s *scene) { s.pool("a", 0, 9, 0); s.podsOf(2, "100m", near("web")) }, 1, ""},
		"Lonely": {"A pod wants to be near one that is nowhere.", func(s *scene) { s.pool("a", 0, 9, 0); s.podsOf(1, "100m", near("db")) }, 0, "no pod is there that its affinity asks for"},
		"Unjudged": {"What is not judged makes nothing grow.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.podsOf(1, "100m", func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} })
		}, 0, "resource claims, which KQueen does not judge"},
		"Port": {"A port of the host is taken.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.podsOf(2, "100m", func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} })
		}, 2, ""},
		"Volume": {"Its volume is on a node: no new one has it.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.Claims = map[string]Claim{"shop/data": {Volume: "v"}}
			s.Volumes = map[string]*corev1.NodeSelector{"v": onHost("a-7")}
			s.podsOf(1, "1", withClaim)
		}, 0, "the volume of its claim data is not there"},
		"NewVolume": {"A volume that waits for a pod is made where that runs.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.Claims, s.Classes = map[string]Claim{"shop/data": {Class: "local"}}, map[string]bool{"local": true}
			s.podsOf(1, "1", withClaim)
		}, 1, ""},
		"NoVolume": {"One that does not wait and is not there is no lack of nodes.", func(s *scene) {
			s.pool("a", 0, 9, 0)
			s.Claims, s.Classes = map[string]Claim{"shop/data": {Class: "disk"}}, map[string]bool{"disk": false}
			s.podsOf(1, "1", withClaim)
		}, 0, "its claim data has no volume yet"},
		"NoClaim":   {"Nor is a claim that is not there.", func(s *scene) { s.pool("a", 0, 9, 0); s.podsOf(1, "1", withClaim) }, 0, "there is no claim data"},
		"Addons":    {"What KQueen runs needs no node where nothing else runs.", func(s *scene) { s.pool("a", 0, 9, 0); s.addons(); s.podsOf(2, "1", addonPod) }, 0, ""},
		"WithAddon": {"Beside others it does.", func(s *scene) { s.pool("a", 0, 9, 0); s.addons(); s.podsOf(1, "1", addonPod); s.pod("x", "2", "") }, 2, ""},
		"Unknown":   {"The size of a node is not known.", func(s *scene) { s.pool("a", 0, 9, 0).Template = nil; s.podsOf(1, "1") }, 0, "not known how large a node"},
	}.run(t)
}

func near(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: corev1.LabelHostname},
		}}}
	}
}

func (s *scene) daemonSet(cpu string, selector map[string]string) {
	set := &appsv1.DaemonSet{}
	set.Spec.Template.Spec.NodeSelector = selector
	set.Spec.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}
	s.DaemonSets = append(s.DaemonSets, set)
}

// TestWhichPoolGrows: the one of which the least is left.
func TestWhichPoolGrows(t *testing.T) {
	s := &scene{}
	s.pool("large", 0, 9, 0).Template = nodeLike("", "8")
	s.pool("small", 0, 1, 0)
	s.pool("fixed", 0, 9, 0).Scales = false
	s.podsOf(2, "1500m")
	got := map[string]int32{}
	for name, d := range s.plan().Pools {
		got[name] = d.Replicas
	}
	if diff := cmp.Diff(map[string]int32{"large": 1, "small": 1}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNothingGrowsTwice: whatever comes of what was decided, step by step, the same pods are answered once.
func TestNothingGrowsTwice(t *testing.T) {
	s := &scene{}
	p := s.pool("a", 0, 100, 0)
	s.podsOf(7, "1500m")
	for step := range 30 {
		p.Replicas = s.plan().Pools["a"].Replicas
		if p.Replicas != 7 {
			t.Fatalf("in step %d the pool has %d machines, want 7", step, p.Replicas)
		}
		switch { // machines come one by one, register, become ready, and take a pod
		case len(p.Machines) < 7:
			name := fmt.Sprintf("a-%d", len(p.Machines))
			p.Machines = append(p.Machines, Machine{Name: name, UID: types.UID(name)})
		case len(s.Nodes) < 7:
			s.Nodes = append(s.Nodes, nodeLike(fmt.Sprintf("a-%d", len(s.Nodes)), "2"))
			s.Nodes[len(s.Nodes)-1].Status.Conditions = nil
		case step%2 == 0:
			for _, n := range s.Nodes {
				n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
			}
		default:
			if i := slices.IndexFunc(s.Pods, func(p *corev1.Pod) bool { return p.Spec.NodeName == "" }); i >= 0 {
				s.Pods[i].Spec.NodeName = fmt.Sprintf("a-%d", i)
			}
		}
	}
}
