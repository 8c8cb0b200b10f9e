package machinecontroller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Moved says whether a machine changed in a way that its peers have to know: they reach its pods by its
// address. It is pure, for a predicate.
func Moved(old, now *v1alpha1.Machine) bool {
	return old.Status.Address != now.Status.Address || old.Status.PodCIDR != now.Status.PodCIDR
}

// Peers returns, of all machines of a namespace, those to reconcile when one has moved or is gone. It is pure.
func Peers(all []v1alpha1.Machine, moved *v1alpha1.Machine) []reconcile.Request {
	return requestsFor(all, func(m *v1alpha1.Machine) bool {
		return m.Namespace == moved.Namespace && m.Spec.ClusterName == moved.Spec.ClusterName && m.Name != moved.Name
	})
}

// OfCluster returns, of all machines of a namespace, those to reconcile when their cluster changed. It is pure.
func OfCluster(all []v1alpha1.Machine, cluster *v1alpha1.Cluster) []reconcile.Request {
	return requestsFor(all, func(m *v1alpha1.Machine) bool {
		return m.Namespace == cluster.Namespace && m.Spec.ClusterName == cluster.Name
	})
}

func requestsFor(all []v1alpha1.Machine, wanted func(*v1alpha1.Machine) bool) []reconcile.Request {
	var out []reconcile.Request
	for i := range all {
		if wanted(&all[i]) {
			out = append(out, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all[i])})
		}
	}
	return out
}
