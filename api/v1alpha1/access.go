package v1alpha1

import "k8s.io/apimachinery/pkg/types"

// Groups that a credential of KQueen can have in a cluster, without [TokenPrefix].
const (
	// AccessClusterAdmin may do everything in the cluster.
	AccessClusterAdmin = "cluster-admin"
	// AccessEdit may change what runs in the cluster, in all namespaces, and see what AccessView sees. It is for
	// users who are trusted with the cluster: a user who may run pods in every namespace may use every ServiceAccount.
	AccessEdit = "edit"
	// AccessView may see everything in the cluster but Secrets, RBAC and what only administrators need.
	AccessView = "view"
)

// TokenPrefix prefixes the names of users and groups in clusters that take KQueen's credentials, so that they
// are never mistaken for those of the cluster itself.
const TokenPrefix = "kqueen:"

// TokenAudience returns the audience of credentials for one cluster. uid is that of the Cluster, or of the
// ControlPlane where that was created without one. No two clusters share it, so a credential of one opens no other.
func TokenAudience(uid types.UID) string { return GroupVersion.Group + "/cluster/" + string(uid) }
