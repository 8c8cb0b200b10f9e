package kinds

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Rotation replaces a credential of a cluster.
var Rotation = &Kind{
	Kind: "Rotation", Singular: "rotation", Plural: "rotations",
	Object: func() client.Object { return &v1alpha1.Rotation{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(r *v1alpha1.Rotation) string { return r.Spec.ClusterName })},
		{Name: "Credential", Value: of(func(r *v1alpha1.Rotation) string { return string(r.Spec.Credential) })},
		{Name: "Step", Value: of(func(r *v1alpha1.Rotation) string { return string(r.Status.Step) })},
		readyColumn,
		reasonColumn,
		{Name: "Completed", Value: of(func(r *v1alpha1.Rotation) string { return ageOf(r.Status.CompletionTime) })},
		MessageColumn,
		ageColumn,
	},
	None: "cluster rotate ca CLUSTER",
}
