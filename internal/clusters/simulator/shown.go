package simulator

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// shown is a cluster of the showcase.
type shown struct {
	*Cluster

	of profile
	// newest is the number of the tag that each app of the organization's own runs, sets is the ReplicaSet of each app, and running
	// are its pods.
	newest  map[string]int
	sets    map[string]string
	running map[string][]string
	// down is the node that is not ready; empty for none.
	down string
}

// eventsKept is how many changes a watch may be behind.
const eventsKept = 500

func newShown(p profile, number uint64, now time.Time) *shown {
	c := newCluster(p.name, showSeed, number)
	c.release, c.trouble, c.keep, c.objects = p.version, p.trouble, eventsKept, noObjects()
	c.version = int(now.UnixMicro())
	c.compacted = c.version
	s := &shown{Cluster: c, of: p, newest: map[string]int{}, sets: map[string]string{}, running: map[string][]string{}}
	for _, namespace := range []string{"default", "kube-system"} {
		s.putNamespace(namespace)
	}
	for n := range p.nodes {
		s.putShownNode(n, s.kubelet(n), true)
	}
	dns := app{"kube-system", "coredns", "registry.k8s.io/coredns/coredns", "v1.12.4", 2}
	for _, a := range slices.Concat([]app{dns}, p.apps) {
		s.putNamespace(a.namespace)
		s.newest[a.name] = 1 + s.random.IntN(9)
		s.deploy(a)
	}
	s.putProxies()
	return s
}

func (s *shown) kubelet(node int) string {
	if len(s.of.kubelets) == 0 {
		return s.of.version
	}
	return s.of.kubelets[node%len(s.of.kubelets)]
}

// meta is that of an object, which is created when it is first written.
func (s *shown) meta(namespace, name string) metav1.ObjectMeta {
	uid := types.UID(fmt.Sprintf("%s-%s-%s", s.name, namespace, name))
	return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}
}

func (s *shown) putNamespace(name string) {
	if _, there := s.objects["namespaces"][name]; there {
		return
	}
	o := &corev1.Namespace{TypeMeta: metav1.TypeMeta{Kind: "Namespace", APIVersion: "v1"}, ObjectMeta: s.meta("", name)}
	s.put("namespaces", name, string(o.UID), "ADDED", o, &o.ObjectMeta)
}

func nodeName(cluster string, n int) string { return fmt.Sprintf("%s-node-%d", cluster, n+1) }

func (s *shown) putShownNode(n int, kubelet string, ready bool) {
	name := nodeName(s.name, n)
	node := &corev1.Node{TypeMeta: metav1.TypeMeta{Kind: "Node", APIVersion: "v1"}, ObjectMeta: s.meta("", name)}
	node.Labels = map[string]string{"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": string(rune('a' + n%3))}
	node.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: kubelet, ContainerRuntimeVersion: "containerd://2.1.4", KernelVersion: "6.12.0", OSImage: "Simulated Linux", Architecture: "amd64",
	}
	size := corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110")}
	node.Status.Capacity, node.Status.Allocatable = size, size
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if !ready {
		node.Status.Conditions[0].Status, node.Status.Conditions[0].Message = corev1.ConditionUnknown, "the simulated kubelet is silent for a while"
	}
	s.put("nodes", name, string(node.UID), s.event("nodes", name), node, &node.ObjectMeta)
}

// event is the type of the event of a write.
func (s *shown) event(plural, name string) string {
	if _, there := s.objects[plural][name]; there {
		return "MODIFIED"
	}
	return "ADDED"
}

// image is what an app runs now.
func (s *shown) image(a app) string {
	if a.tag != "" {
		return a.image + ":" + a.tag
	}
	return fmt.Sprintf("%s:1.%d.0", a.image, s.newest[a.name])
}

// deploy puts the Deployment and the Service of an app as it is now, and replaces its pods by those of its ReplicaSet.
func (s *shown) deploy(a app) {
	selector := map[string]string{"app": a.name}
	set := &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{Kind: "ReplicaSet", APIVersion: "apps/v1"}, ObjectMeta: s.meta(a.namespace, a.name+"-"+hash(s.image(a)))}
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"}, ObjectMeta: s.meta(a.namespace, a.name)}
	d.Labels, d.Spec.Replicas, d.Spec.Selector = selector, ptr.To(int32(a.replicas)), &metav1.LabelSelector{MatchLabels: selector}
	d.Status.ReadyReplicas = int32(a.replicas)
	set.Labels, set.Spec.Replicas, set.Spec.Selector = selector, d.Spec.Replicas, d.Spec.Selector
	set.OwnerReferences = owned("apps/v1", "Deployment", &d.ObjectMeta)
	key := a.namespace + "/" + a.name
	s.put("replicasets", a.namespace+"/"+set.Name, string(set.UID), s.event("replicasets", a.namespace+"/"+set.Name), set, &set.ObjectMeta)
	s.put("deployments", key, string(d.UID), s.event("deployments", key), d, &d.ObjectMeta)
	if s.event("services", key) == "ADDED" {
		v := &corev1.Service{TypeMeta: metav1.TypeMeta{Kind: "Service", APIVersion: "v1"}, ObjectMeta: s.meta(a.namespace, a.name)}
		v.Spec.Type, v.Spec.Selector, v.Spec.Ports = corev1.ServiceTypeClusterIP, selector, []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80}}
		s.put("services", key, string(v.UID), "ADDED", v, &v.ObjectMeta)
	}
	old := s.running[key]
	s.running[key] = nil
	for range a.replicas {
		s.start(a, set)
	}
	for _, pod := range old {
		s.end(pod)
	}
	if before := s.sets[key]; before != "" && before != set.Name {
		gone := &appsv1.ReplicaSet{TypeMeta: set.TypeMeta, ObjectMeta: s.meta(a.namespace, before)}
		s.put("replicasets", a.namespace+"/"+before, string(gone.UID), "DELETED", gone, &gone.ObjectMeta)
	}
	s.sets[key] = set.Name
}

func owned(version, kind string, by *metav1.ObjectMeta) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: version, Kind: kind, Name: by.Name, UID: by.UID, Controller: ptr.To(true)}}
}

func hash(text string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	return fmt.Sprintf("%08x", h.Sum32())
}

// start runs one more pod of an app on a node.
func (s *shown) start(a app, set *appsv1.ReplicaSet) {
	s.made++
	key := a.namespace + "/" + a.name
	name := fmt.Sprintf("%s-%s", set.Name, hash(fmt.Sprint(s.made))[:5])
	s.running[key] = append(s.running[key], a.namespace+"/"+name)
	s.putShownPod(s.meta(a.namespace, name), set.Labels, owned("apps/v1", "ReplicaSet", &set.ObjectMeta), nodeName(s.name, s.random.IntN(s.of.nodes)), a.name, s.image(a))
}

func (s *shown) putShownPod(m metav1.ObjectMeta, labels map[string]string, owner []metav1.OwnerReference, node, container, image string) {
	m.UID += types.UID(fmt.Sprintf("-%d", s.made)) // a pod never comes again
	m.Labels, m.OwnerReferences = maps.Clone(labels), owner
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, ObjectMeta: m}
	requests := corev1.ResourceList{"cpu": resource.MustParse("250m"), "memory": resource.MustParse("512Mi")}
	pod.Spec.NodeName = node
	pod.Spec.Containers = []corev1.Container{{Name: container, Image: image, Resources: corev1.ResourceRequirements{Requests: requests}}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: container, Image: image, ImageID: image + "@" + digest(image), Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	s.put("pods", m.Namespace+"/"+m.Name, string(m.UID), "ADDED", pod, &pod.ObjectMeta)
}

// end removes a pod.
func (s *shown) end(key string) {
	pod := s.pod(key)
	s.put("pods", key, string(pod.UID), "DELETED", pod, &pod.ObjectMeta)
}

// putProxies runs kube-proxy on each node, of its kubelet's version.
func (s *shown) putProxies() {
	labels := map[string]string{"k8s-app": "kube-proxy"}
	d := &appsv1.DaemonSet{TypeMeta: metav1.TypeMeta{Kind: "DaemonSet", APIVersion: "apps/v1"}, ObjectMeta: s.meta("kube-system", "kube-proxy")}
	d.Labels, d.Spec.Selector = labels, &metav1.LabelSelector{MatchLabels: labels}
	d.Status.DesiredNumberScheduled, d.Status.NumberReady = int32(s.of.nodes), int32(s.of.nodes)
	s.put("daemonsets", "kube-system/kube-proxy", string(d.UID), "ADDED", d, &d.ObjectMeta)
	for n := range s.of.nodes {
		s.made++
		pod := s.meta("kube-system", "kube-proxy-"+hash(nodeName(s.name, n))[:5])
		s.putShownPod(pod, labels, owned("apps/v1", "DaemonSet", &d.ObjectMeta), nodeName(s.name, n), "kube-proxy", "registry.k8s.io/kube-proxy:"+s.kubelet(n))
	}
}

// step is one change, as there are in a cluster every few minutes: mostly another version of an application, now and then a pod that
// moves or a node that is silent.
func (s *shown) step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.random.IntN(s.of.nodes)
	switch choice := s.random.IntN(10); {
	case s.down != "":
		s.revive()
	case choice == 0 && s.of.nodes > 2:
		s.down = nodeName(s.name, n)
		s.putShownNode(n, s.kubelet(n), false)
	default:
		a := s.of.apps[s.random.IntN(len(s.of.apps))]
		s.newest[a.name]++
		s.deploy(a)
	}
}

// revive has the node be ready again that is not.
func (s *shown) revive() {
	for n := range s.of.nodes {
		if nodeName(s.name, n) == s.down {
			s.putShownNode(n, s.kubelet(n), true)
		}
	}
	s.down = ""
}
