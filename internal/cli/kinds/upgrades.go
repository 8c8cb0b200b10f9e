package kinds

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Upgrade brings a cluster to another version of Kubernetes.
var Upgrade = &Kind{
	Kind: "Upgrade", Singular: "upgrade", Plural: "upgrades",
	Object: func() client.Object { return &v1alpha1.Upgrade{} },
	columns: []Column{
		{Name: "Cluster", Value: of(func(u *v1alpha1.Upgrade) string { return u.Spec.ClusterName })},
		{Name: "From", Value: of(func(u *v1alpha1.Upgrade) string { return u.Status.FromVersion })},
		{Name: "To", Value: of(func(u *v1alpha1.Upgrade) string { return u.Spec.Version })},
		readyColumn,
		reasonColumn,
		{Name: "Completed", Value: of(func(u *v1alpha1.Upgrade) string { return ageOf(u.Status.CompletionTime) })},
		MessageColumn,
		ageColumn,
	},
	None: "cluster upgrade CLUSTER --to VERSION",
}
