package organization

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Amount is how much there is of what a quota counts.
type Amount struct {
	Clusters, Nodes int64
}

// amountOf is what a Cluster or a NodePool counts for. A pool counts with what it may come to have: whoever scales
// it within its bounds asks nobody.
func amountOf(o client.Object) Amount {
	if p, ok := o.(*v1alpha1.NodePool); ok {
		return Amount{Nodes: int64(max(p.Spec.Replicas, ptr.Deref(p.Spec.MaxReplicas, 0)))}
	}
	return Amount{Clusters: 1}
}

func (a Amount) plus(b Amount) Amount {
	return Amount{Clusters: a.Clusters + b.Clusters, Nodes: a.Nodes + b.Nodes}
}

func (a Amount) minus(b Amount) Amount {
	return Amount{Clusters: a.Clusters - b.Clusters, Nodes: a.Nodes - b.Nodes}
}

func (a Amount) max(b Amount) Amount {
	return Amount{Clusters: max(a.Clusters, b.Clusters), Nodes: max(a.Nodes, b.Nodes)}
}

func sum[K comparable](counted map[K]Amount) Amount {
	var all Amount
	for _, a := range counted {
		all = all.plus(a)
	}
	return all
}

// exceeded says which part of the quota has no room for what comes next. What does not grow is let through, also
// when the quota was made smaller than what is there. It is pure.
func exceeded(q *v1alpha1.Quota, used, next Amount) *metav1.StatusCause {
	if q == nil {
		return nil
	}
	parts := []struct {
		name, field string
		limit       *int32
		used, next  int64
	}{
		{"clusters", "metadata.name", q.Clusters, used.Clusters, next.Clusters},
		{"nodes", "spec.replicas", q.Nodes, used.Nodes, next.Nodes},
	}
	for _, p := range parts {
		if p.limit != nil && p.next > p.used && p.next > int64(*p.limit) {
			return &metav1.StatusCause{Type: CauseQuotaExceeded, Field: p.field, Message: fmt.Sprintf(
				"the organization's quota of %s is %d, of which %d are used; this needs %d more", p.name, *p.limit, p.used, p.next-p.used)}
		}
	}
	return nil
}
