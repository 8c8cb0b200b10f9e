package kinds

import (
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Rehearsal tries the upgrade of a cluster in a copy of what it stores.
var Rehearsal = &Kind{
	Kind: "Rehearsal", Singular: "rehearsal", Plural: "rehearsals",
	Object: func() client.Object { return &v1alpha1.Rehearsal{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(r *v1alpha1.Rehearsal) string { return r.Spec.ClusterName })},
		{Name: "From", Value: of(func(r *v1alpha1.Rehearsal) string { return r.Status.FromVersion })},
		{Name: "To", Value: of(func(r *v1alpha1.Rehearsal) string { return r.Spec.Version })},
		readyColumn,
		reasonColumn,
		{Name: "Blocking", Value: of(blocking)},
		{Name: "Completed", Value: of(func(r *v1alpha1.Rehearsal) string { return ageOf(r.Status.CompletionTime) })},
		MessageColumn,
		ageColumn,
	},
	None: "cluster upgrade CLUSTER --to VERSION --rehearse",
}

// blocking is how many findings block, once all were looked for.
func blocking(r *v1alpha1.Rehearsal) string {
	if r.Status.CompletionTime == nil {
		return ""
	}
	return strconv.Itoa(int(r.Status.BlockingFindings))
}
