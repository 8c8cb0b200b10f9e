package autoscaler

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	schedulinghelper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// amounts are of resources: thousandths of a processor, and of all else units.
type amounts map[corev1.ResourceName]int64

// most bounds each amount, so that no sum of a few overflows.
const most = math.MaxInt64 / 1024

func amountsOf(list corev1.ResourceList) amounts {
	out := amounts{}
	for name, q := range list {
		out[name] = amountOf(name, q)
	}
	return out
}

func amountOf(name corev1.ResourceName, q resource.Quantity) int64 {
	limit := *resource.NewQuantity(most/1000, resource.DecimalSI)
	if q.Cmp(limit) > 0 {
		return most
	}
	if name == corev1.ResourceCPU {
		return max(q.MilliValue(), 0)
	}
	return max(q.Value(), 0)
}

// quantity writes an amount as users do.
func quantity(name corev1.ResourceName, amount int64) string {
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(amount, resource.DecimalSI).String()
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		// Whole mebibytes: bytes tell a reader nothing.
		return resource.NewQuantity(amount>>20<<20, resource.BinarySI).String()
	}
	return resource.NewQuantity(amount, resource.DecimalSI).String()
}

// load is a pod, and what of it decides where it can run.
type load struct {
	*corev1.Pod
	requests amounts
	nodes    nodeaffinity.RequiredNodeAffinity
	// apart and near are its required terms of pod anti-affinity and affinity.
	apart, near []term
	spread      []spread
	// addon says that KQueen runs it in the cluster.
	addon bool
	// unjudged is what of it is not judged, so that no pool is made larger for it; empty for most.
	unjudged string
}

func loadOf(p *corev1.Pod, addons []Selected) *load {
	l := &load{Pod: p, requests: amountsOf(resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})), nodes: nodeaffinity.GetRequiredNodeAffinity(p)}
	l.requests[corev1.ResourcePods] = 1
	l.addon = slices.ContainsFunc(addons, func(s Selected) bool { return s.has(p) })
	if len(p.Spec.ResourceClaims) > 0 {
		l.unjudged = "it has resource claims, which KQueen does not judge"
	}
	l.readTopology()
	return l
}

func (l *load) String() string { return l.Namespace + "/" + l.Name }

// ended says that a pod takes nothing of its node any more.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// stays says that a pod belongs to its node: it goes with it and is made for each.
func stays(p *corev1.Pod) bool {
	_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOf(p)
	return mirror || owner != nil && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, "apps/")
}

// waits says that a pod waits for a node. One with scheduling gates does not yet.
func waits(p *corev1.Pod) bool {
	return p.Spec.NodeName == "" && !ended(p) && p.DeletionTimestamp == nil && len(p.Spec.SchedulingGates) == 0 && !stays(p)
}

// unschedulable says that the scheduler has looked for a node for a pod, and found none.
func unschedulable(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

// before orders pods as they are placed: the important ones first, then the large ones, which are the harder to place.
func before(a, b *load) int {
	return cmp.Or(
		cmp.Compare(schedulinghelper.PodPriority(b.Pod), schedulinghelper.PodPriority(a.Pod)),
		cmp.Compare(b.requests[corev1.ResourceCPU], a.requests[corev1.ResourceCPU]),
		cmp.Compare(b.requests[corev1.ResourceMemory], a.requests[corev1.ResourceMemory]),
		cmp.Compare(a.String(), b.String()),
	)
}
