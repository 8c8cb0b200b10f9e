// Package role says what each role of an organization may do, in one table. From
// the table come the RBAC objects of the admin plane, which decide, and the page
// of the documentation, which tells.
//
// Rights are bound to groups, one for each organization and role, and never to
// users: the package that identifies a caller says which groups they are in. So RBAC
// objects grow with organizations, and with neither users nor clusters.
package role

import (
	"slices"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	// Admins is the group of the administrators of the installation.
	Admins = "kqueen:admins"
	// Authenticated is the group of every caller who is signed in.
	Authenticated = "kqueen:authenticated"
	// groupPrefix is kept for groups of ours: no identity provider may give one.
	groupPrefix = "kqueen:"
)

// RBAC verbs that are KQueen's own.
const (
	// VerbAccess on a subresource of clusters: to be given credentials of that kind.
	VerbAccess = "access"
	// VerbAdminister on organizations: to change what an organization may not change itself, such as its quota.
	VerbAdminister = "administer"
)

// AccessBreakGlass is the subresource of clusters that stands for the cluster's own administrator, who is no user in
// particular and whose key is good for a year. The other credentials are named by v1alpha1.AccessView and its like.
const AccessBreakGlass = "breakglass"

// Resources of KQueen that are no objects of the admin plane.
const (
	// ServiceAccounts are the organization's service accounts and their tokens.
	ServiceAccounts = "serviceaccounts"
	// AuditRecords are the records of the audit log.
	AuditRecords = "auditrecords"
	// Inventory is what was observed in clusters.
	Inventory = "inventory"
	// Users are those who sign in.
	Users = "users"
	// Metrics are what KQueen measures of itself.
	Metrics = "metrics"
)

// All returns the roles from the highest to the lowest.
func All() []v1alpha1.Role {
	return []v1alpha1.Role{v1alpha1.RoleOwner, v1alpha1.RoleOperator, v1alpha1.RoleDeveloper, v1alpha1.RoleViewer}
}

// rank is the place among All; what is no role is below all.
func rank(r v1alpha1.Role) int {
	if i := slices.Index(All(), r); i >= 0 {
		return i
	}
	return len(All())
}

// Valid says whether r is a role.
func Valid(r v1alpha1.Role) bool { return slices.Contains(All(), r) }

// Lower returns the role that may do less: what remains of one when it is narrowed to the other. What is no role
// narrows to no role.
func Lower(a, b v1alpha1.Role) v1alpha1.Role {
	if !Valid(a) || !Valid(b) {
		return ""
	}
	if rank(a) > rank(b) {
		return a
	}
	return b
}

// Group is the group that has a role in an organization.
func Group(organization string, r v1alpha1.Role) string {
	return groupPrefix + "org:" + organization + ":" + string(r)
}

// Raises says whether members who are changed name a user or a group who was none of them, or give one a higher role. It is pure.
func Raises(before, after []v1alpha1.Member) bool {
	return slices.ContainsFunc(after, func(m v1alpha1.Member) bool {
		return m.User != "" && rank(m.Role) < rank(Of(before, m.User, nil)) ||
			m.Group != "" && rank(m.Role) < rank(Of(before, "", []string{m.Group}))
	})
}

// Of returns the highest role that the members of an organization give to a user, and "" when they give none.
func Of(members []v1alpha1.Member, user string, groups []string) v1alpha1.Role {
	best := v1alpha1.Role("")
	for _, m := range members {
		named := m.User != "" && m.User == user || m.Group != "" && slices.Contains(groups, m.Group)
		if named && rank(m.Role) < rank(best) {
			best = m.Role
		}
	}
	return best
}
