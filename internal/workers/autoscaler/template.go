package autoscaler

import (
	"maps"
	"runtime"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	// evictedAt is how much memory, and evictedAtDisk how much of the disk, a node keeps: pods are evicted when no more is left.
	evictedAt     = 100 << 20
	evictedAtDisk = 512 << 20
	// mostPodsOfNode is how many pods a kubelet takes.
	mostPodsOfNode = 110
)

// templateOf is the node of a machine that a pool makes next: with the labels and taints of its template, and as large as one that is
// there, or as the template and the host say. It is nil for machines that the user joins. It is pure.
func templateOf(p *v1alpha1.NodePool, machines []v1alpha1.Machine, nodes []*corev1.Node, host corev1.ResourceList) *corev1.Node {
	t := &p.Spec.Template
	if t.Provider != v1alpha1.ProviderLocal {
		return nil
	}
	labels := map[string]string{
		corev1.LabelOSStable: "linux", corev1.LabelArchStable: runtime.GOARCH, "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": runtime.GOARCH,
		v1alpha1.LabelAddonImages: v1alpha1.AddonImagesImported,
	}
	maps.Copy(labels, t.Labels)
	labels[v1alpha1.LabelProvider], labels[v1alpha1.LabelNodePool] = t.Provider, p.Name
	if t.VolumeCapacity != nil {
		labels[v1alpha1.LabelVolumeCapacity] = t.VolumeCapacity.String()
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.NodeSpec{Taints: t.Taints}}
	node.Status.Allocatable = like(t, machines, nodes)
	if node.Status.Allocatable == nil {
		node.Status.Allocatable = sized(t.Resources, host)
	}
	return node
}

// like is what a node that is there has for pods, of a machine as the template makes them; nil when there is none.
func like(t *v1alpha1.MachineTemplate, machines []v1alpha1.Machine, nodes []*corev1.Node) corev1.ResourceList {
	same := map[string]bool{}
	for i := range machines {
		m := &machines[i].Spec
		same[machines[i].Name] = m.Provider == t.Provider && equality.Semantic.DeepEqual(m.Resources, t.Resources) && equality.Semantic.DeepEqual(m.Parameters, t.Parameters)
	}
	for _, node := range nodes {
		if same[node.Name] && ready(node) && node.Status.Allocatable.Pods().Value() > 0 {
			return node.Status.Allocatable.DeepCopy()
		}
	}
	return nil
}

// sized is what a node has for pods by the size of its machine, where all that is not said is the host's.
func sized(r *v1alpha1.MachineResources, host corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(mostPodsOfNode, resource.DecimalSI)}
	cpu, memory := host[corev1.ResourceCPU], host[corev1.ResourceMemory]
	if r != nil && r.CPU != nil {
		cpu = *r.CPU
	}
	if r != nil && r.Memory != nil {
		memory = *r.Memory
	}
	memory.Sub(*resource.NewQuantity(evictedAt, resource.BinarySI))
	out[corev1.ResourceCPU], out[corev1.ResourceMemory] = cpu, memory
	if disk, ok := host[corev1.ResourceEphemeralStorage]; ok {
		disk.Sub(*resource.NewQuantity(evictedAtDisk, resource.BinarySI))
		out[corev1.ResourceEphemeralStorage] = disk
	}
	return out
}
