package organization

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Fields that say how many machines a pool has, and how much each of them has.
const (
	fieldReplicas = "spec.replicas"
	fieldCPU      = "spec.template.resources.cpu"
	fieldMemory   = "spec.template.resources.memory"
)

// bound is one part of a quota.
type bound struct {
	name string
	// field is what asks for more of it.
	field string
	// limited says whether there is a limit.
	limited           bool
	limit, used, next int64
	text              func(int64) string
}

// bounds are the parts of a quota, in the order in which they are named to users.
func bounds(q *v1alpha1.Quota, used, next Amount) []bound {
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	all := []bound{
		{name: "clusters", field: "metadata.name", used: used.Clusters, next: next.Clusters, text: count},
		{name: "nodes", field: fieldReplicas, used: used.Nodes, next: next.Nodes, text: count},
		{name: "local machines", field: fieldReplicas, used: used.Local, next: next.Local, text: count},
		{name: "manual machines", field: fieldReplicas, used: used.Manual, next: next.Manual, text: count},
		{name: "cpu", field: fieldCPU, limited: q.CPU != nil, limit: milli(q.CPU), used: used.CPU, next: next.CPU, text: CPUText},
		{name: "memory", field: fieldMemory, limited: q.Memory != nil, limit: bytes(q.Memory), used: used.Memory, next: next.Memory, text: BytesText},
	}
	machines := ptr.Deref(q.Machines, v1alpha1.MachineQuota{})
	for i, limit := range []*int32{q.Clusters, q.Nodes, machines.Local, machines.Manual} {
		if limit != nil {
			all[i].limited, all[i].limit = true, int64(*limit)
		}
	}
	return all
}

// exceeded says which part of the quota has no room for what comes next. What does not grow is let through, also
// when the quota was made smaller than what is there. A cluster more is a keyspace more, whose size is not known yet:
// it is let through while any of the store is left. It is pure.
func exceeded(q *v1alpha1.Quota, used, next Amount) *metav1.StatusCause {
	if q == nil {
		return nil
	}
	for _, b := range bounds(q, used, next) {
		if b.limited && b.next > b.used && b.next > b.limit {
			return &metav1.StatusCause{Type: CauseQuotaExceeded, Field: b.field, Message: fmt.Sprintf(
				"the organization's quota of %s is %s, of which %s are used; this needs %s more", b.name, b.text(b.limit), b.text(b.used), b.text(b.next-b.used))}
		}
	}
	if q.Store != nil && next.Clusters > used.Clusters && used.Unmeasured > 0 {
		return &metav1.StatusCause{Type: CauseQuotaExceeded, Field: "metadata.name", Message: fmt.Sprintf(
			"the organization's quota of store is %s, and for an hour it could not be measured how much %d of its control planes hold; the log of KQueen says why",
			BytesText(bytes(q.Store)), used.Unmeasured)}
	}
	if q.Store != nil && next.Clusters > used.Clusters && used.Store >= bytes(q.Store) {
		return &metav1.StatusCause{Type: CauseQuotaExceeded, Field: "metadata.name", Message: fmt.Sprintf(
			"the organization's quota of store is %s, of which %s are used; delete objects in its clusters, or clusters", BytesText(bytes(q.Store)), StoreText(used.Store))}
	}
	return nil
}

// unsaid adds to a refusal that a pool counts with all of the host's, when that is so. It is pure.
func unsaid(object client.Object, field string) string {
	p, ok := object.(*v1alpha1.NodePool)
	if !ok {
		return ""
	}
	each := ptr.Deref(p.Spec.Template.Resources, v1alpha1.MachineResources{})
	if field == fieldCPU && each.CPU == nil || field == fieldMemory && each.Memory == nil {
		return "; a pool that does not say it counts with all of the host's"
	}
	return ""
}

// CPUText writes thousandths of a processor as a quantity, such as "1500m" or "2".
func CPUText(milli int64) string {
	return resource.NewMilliQuantity(milli, resource.DecimalSI).String()
}

// StoreText writes measured bytes as a quantity of whole KiB, rounded up.
func StoreText(n int64) string {
	const kib = 1 << 10
	return BytesText((n + kib - 1) / kib * kib)
}

// BytesText writes bytes as a quantity, such as "4Gi".
func BytesText(n int64) string { return resource.NewQuantity(n, resource.BinarySI).String() }
