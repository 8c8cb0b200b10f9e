package autoscaler

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// Seen is what a cluster says of itself.
type Seen struct {
	Nodes      []*corev1.Node
	Pods       []*corev1.Pod
	DaemonSets []*appsv1.DaemonSet
	Budgets    []Budget
	// Claims are by namespace/name, Volumes and Classes by name. They are read when a pod has claims.
	Claims  map[string]Claim
	Volumes map[string]*corev1.NodeSelector
	// Classes says of each StorageClass whether its volumes wait for a pod.
	Classes map[string]bool
	// Addons select the pods that KQueen runs in clusters.
	Addons []Selected
}

// Selected are pods of a namespace.
type Selected struct {
	Namespace string
	Selector  labels.Selector
}

func (s Selected) has(p *corev1.Pod) bool {
	return p.Namespace == s.Namespace && s.Selector.Matches(labels.Set(p.Labels))
}

// Budget is a PodDisruptionBudget, and how many of its pods may leave now.
type Budget struct {
	Selected
	Name    string
	Allowed int32
}

// Claim is a PersistentVolumeClaim: the volume that it is bound to, and its class while it is not.
type Claim struct{ Volume, Class string }

// Pool is a pool of the cluster.
type Pool struct {
	Name string
	// Scales says that KQueen sets how many machines it has, from Min to Max.
	Scales             bool
	Min, Max, Replicas int32
	// Idle is how long a node must not have been needed before it goes.
	Idle time.Duration
	// Held is why no machine of it is removed now; empty when one may be.
	Held string
	// Machines are those that are there, the ones that leave among them.
	Machines []Machine
	// Template is the node of a machine that comes; nil when none comes by itself.
	Template *corev1.Node
}

// Machine is a machine of a pool. Its node has its name.
type Machine struct {
	Name string
	UID  types.UID
	// Leaving says that it is being removed, and Marked that it goes when the pool becomes smaller.
	Leaving, Marked bool
}

// live is how many machines of a pool do not leave.
func (p *Pool) live() int32 {
	var n int32
	for _, m := range p.Machines {
		if !m.Leaving {
			n++
		}
	}
	return n
}
