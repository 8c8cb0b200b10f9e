package simulator

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Container is what runs in a cluster, as the simulator knows it: the truth.
type Container struct{ Namespace, Pod, UID, Name, Image, Digest, Node string }

// images are what pods run: as pods name them, and in full.
var images = []struct{ short, full string }{
	{"nginx:1.27", "docker.io/library/nginx:1.27"},
	{"redis", "docker.io/library/redis:latest"},
	{"bitnami/postgresql:16.1.0", "docker.io/bitnami/postgresql:16.1.0"},
	{"quay.io/prometheus/prometheus:v3.1.0", "quay.io/prometheus/prometheus:v3.1.0"},
	{"registry.example.com:5000/team/app:1.2.3", "registry.example.com:5000/team/app:1.2.3"},
}

// anyImage is what a pod may run: one of those that every cluster has, or one of applications, whose tags move on as pods come.
func (c *Cluster) anyImage() string {
	if c.random.IntN(4) == 0 {
		return images[c.random.IntN(len(images))].short
	}
	app := c.random.IntN(applications)
	return fmt.Sprintf("registry.example.com:5000/team-%d/app-%d:1.%d.%d", app%20, app, c.made/tagEvery, app%3)
}

// applications is how many there are, and tagEvery after how many pods of a cluster theirs have another tag.
const (
	applications = 400
	tagEvery     = 500
)

// Run has all pods run that do not, as after a while in which nothing changes.
func (c *Cluster) Run() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(c.objects["pods"])) {
		if c.pod(name).Spec.NodeName == "" {
			c.changePod(name)
		}
	}
}

// Upgrade has so many nodes run another kubelet.
func (c *Cluster) Upgrade(nodes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := slices.Sorted(maps.Keys(c.objects["nodes"]))
	for range min(nodes, len(names)) {
		name := names[c.random.IntN(len(names))]
		node := c.node(name)
		node.Status.NodeInfo.KubeletVersion = kubelets[c.random.IntN(len(kubelets))]
		c.put("nodes", name, string(node.UID), "MODIFIED", node, &node.ObjectMeta)
	}
}

// kubelets are the versions that nodes get when they are upgraded.
var kubelets = []string{"v1.35.2", "v1.35.4", "v1.36.1", Version}

// Churn makes so many changes: pods come, run another image, get a node, or go.
func (c *Cluster) Churn(changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range changes {
		name, found := c.anyPod()
		switch c.random.IntN(4) {
		case 0:
			c.putPod()
		case 1:
			if found {
				c.deletePod(name)
			}
		default:
			if found {
				c.changePod(name)
			}
		}
	}
}

func (c *Cluster) anyPod() (string, bool) {
	names := slices.Sorted(maps.Keys(c.objects["pods"])) // the same for the same seed
	if len(names) == 0 {
		return "", false
	}
	return names[c.random.IntN(len(names))], true
}

func (c *Cluster) putNode(n int) {
	node := &corev1.Node{
		TypeMeta:   metav1.TypeMeta{Kind: "Node", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n), UID: types.UID(fmt.Sprintf("%s-node-%d", c.name, n))},
	}
	node.Status.NodeInfo = corev1.NodeSystemInfo{
		KubeletVersion: Version, ContainerRuntimeVersion: "containerd://2.4.2", KernelVersion: "6.18.0", OSImage: "Simulated Linux", Architecture: "amd64",
	}
	node.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	c.put("nodes", node.Name, string(node.UID), "ADDED", node, &node.ObjectMeta)
}

func (c *Cluster) putPod() {
	c.made++
	name := fmt.Sprintf("app-%d", c.made)
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", c.made%7), Name: name, UID: types.UID(fmt.Sprintf("%s-pod-%d", c.name, c.made))},
	}
	pod.Status.Phase = corev1.PodPending
	for i := range 1 + c.random.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: c.anyImage(),
			// What takes place and is not looked at.
			Env: []corev1.EnvVar{{Name: "SETTING", Value: strings.Repeat("x", 200)}},
		})
	}
	if c.random.IntN(5) == 0 {
		pod.Spec.InitContainers = []corev1.Container{{Name: "prepare", Image: c.anyImage()}}
	}
	c.put("pods", name, string(pod.UID), "ADDED", pod, &pod.ObjectMeta)
}

func (c *Cluster) pod(name string) *corev1.Pod {
	pod := &corev1.Pod{}
	if json.Unmarshal(c.objects["pods"][name].body, pod) != nil {
		return &corev1.Pod{} // it was written by this package
	}
	return pod
}

func (c *Cluster) node(name string) *corev1.Node {
	node := &corev1.Node{}
	if json.Unmarshal(c.objects["nodes"][name].body, node) != nil {
		return &corev1.Node{} // it was written by this package
	}
	return node
}

// changePod runs a pod that does not run, or gives one that does another image, as a user may.
func (c *Cluster) changePod(name string) {
	pod := c.pod(name)
	if pod.Spec.NodeName == "" {
		pod.Spec.NodeName, pod.Status.Phase = fmt.Sprintf("node-%d", c.random.IntN(max(len(c.objects["nodes"]), 1))), corev1.PodRunning
	} else {
		pod.Spec.Containers[0].Image = c.anyImage()
	}
	pod.Status.ContainerStatuses, pod.Status.InitContainerStatuses = ran(pod.Spec.Containers), ran(pod.Spec.InitContainers)
	c.put("pods", name, string(pod.UID), "MODIFIED", pod, &pod.ObjectMeta)
}

func ran(containers []corev1.Container) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, container := range containers {
		full := fullName(container.Image)
		out = append(out, corev1.ContainerStatus{Name: container.Name, Image: full, ImageID: full + "@" + digest(full)})
	}
	return out
}

func (c *Cluster) deletePod(name string) {
	pod := c.pod(name)
	c.put("pods", name, string(pod.UID), "DELETED", pod, &pod.ObjectMeta)
}

func fullName(short string) string {
	for _, image := range images {
		if image.short == short {
			return image.full
		}
	}
	return short
}

// digest is one that an image of that name could have.
func digest(full string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(full)))
}

// Truth is all containers of all pods that there are, sorted.
func (c *Cluster) Truth() []Container {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Container
	for name := range c.objects["pods"] {
		pod := c.pod(name)
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			one := Container{
				Namespace: pod.Namespace, Pod: pod.Name, UID: string(pod.UID), Name: container.Name, Image: fullName(container.Image), Node: pod.Spec.NodeName,
			}
			if one.Node != "" {
				one.Digest = digest(one.Image)
			}
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Container) int { return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Name, b.Name)) })
	return out
}

// Kubelet is what a node says that it runs.
type Kubelet struct{ Node, Version string }

// Kubelets is those of all nodes that there are, sorted.
func (c *Cluster) Kubelets() []Kubelet {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Kubelet
	for _, name := range slices.Sorted(maps.Keys(c.objects["nodes"])) {
		out = append(out, Kubelet{Node: name, Version: c.node(name).Status.NodeInfo.KubeletVersion})
	}
	return out
}
