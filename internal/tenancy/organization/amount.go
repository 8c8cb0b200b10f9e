package organization

import (
	"math"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Amount is how much there is of what a quota counts.
type Amount struct {
	Clusters, Nodes int64
	// Local and Manual are the nodes by machine provider.
	Local, Manual int64
	// CPU of the nodes, in thousandths of a processor, and their Memory, in bytes.
	CPU, Memory int64
	// Store is what hosted control planes hold in data stores, in bytes, when it was last measured.
	Store int64
	// Unmeasured is how many control planes could not be measured for so long that Store means nothing.
	Unmeasured int64
}

// What a machine counts for that has all of its host, when it is not known how much that is: the most that a machine
// may be asked to have.
const (
	unknownCPU    = 1024 * 1000
	unknownMemory = 64 << 40
)

// amountOf is what a Cluster, a NodePool or a ControlPlane counts for. A pool counts with what it may come to have:
// scaling it within its bounds asks for nothing more. host is what a machine has whose pool does not say it. It is pure.
func amountOf(o client.Object, host v1alpha1.MachineResources) Amount {
	switch o := o.(type) {
	case *v1alpha1.NodePool:
		nodes := int64(max(o.Spec.Replicas, ptr.Deref(o.Spec.MaxReplicas, 0)))
		amount := Amount{Nodes: nodes}
		switch o.Spec.Template.Provider {
		case v1alpha1.ProviderManual:
			// A user who joins a machine comes with its processors and memory: they are not the installation's to give.
			amount.Manual = nodes
		default:
			amount.Local = nodes
			each := ptr.Deref(o.Spec.Template.Resources, v1alpha1.MachineResources{})
			amount.CPU = times(nodes, first(milli(each.CPU), milli(host.CPU), unknownCPU))
			amount.Memory = times(nodes, first(bytes(each.Memory), bytes(host.Memory), unknownMemory))
		}
		return amount
	case *v1alpha1.ControlPlane:
		if o.IsCopy() { // there for minutes, by KQueen's own doing
			return Amount{}
		}
		amount := Amount{Store: o.Status.StoreBytes()}
		// A status that is older than the first condition has the second one alone.
		if apimeta.IsStatusConditionTrue(o.Status.Conditions, v1alpha1.ConditionStoreUnmeasured) ||
			apimeta.IsStatusConditionPresentAndEqual(o.Status.Conditions, v1alpha1.ConditionStoreQuotaExceeded, metav1.ConditionUnknown) {
			amount.Unmeasured = 1
		}
		return amount
	}
	return Amount{Clusters: 1}
}

// milli returns thousandths, and 0 for nothing.
func milli(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.MilliValue()
}

// bytes returns whole ones, and 0 for nothing.
func bytes(q *resource.Quantity) int64 {
	if q == nil {
		return 0
	}
	return q.Value()
}

// first returns the first number above 0.
func first(of ...int64) int64 {
	for _, n := range of {
		if n > 0 {
			return n
		}
	}
	return 0
}

// times and plus stop at the largest number: a sum that begins anew from below would let everything through.
func times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func plus(a, b int64) int64 {
	if b > math.MaxInt64-a {
		return math.MaxInt64
	}
	return a + b
}

func (a Amount) plus(b Amount) Amount {
	return Amount{
		Clusters: plus(a.Clusters, b.Clusters), Nodes: plus(a.Nodes, b.Nodes),
		Local: plus(a.Local, b.Local), Manual: plus(a.Manual, b.Manual),
		CPU: plus(a.CPU, b.CPU), Memory: plus(a.Memory, b.Memory), Store: plus(a.Store, b.Store), Unmeasured: plus(a.Unmeasured, b.Unmeasured),
	}
}

func (a Amount) max(b Amount) Amount {
	return Amount{
		Clusters: max(a.Clusters, b.Clusters), Nodes: max(a.Nodes, b.Nodes),
		Local: max(a.Local, b.Local), Manual: max(a.Manual, b.Manual),
		CPU: max(a.CPU, b.CPU), Memory: max(a.Memory, b.Memory), Store: max(a.Store, b.Store), Unmeasured: max(a.Unmeasured, b.Unmeasured),
	}
}

func sum[K comparable](counted map[K]Amount) Amount {
	var all Amount
	for _, a := range counted {
		all = all.plus(a)
	}
	return all
}
