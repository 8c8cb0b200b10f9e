package role

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Right is one thing that may be done, and the lowest role that may do it.
type Right struct {
	// What is the right in words that follow "may".
	What string
	// From is the lowest role that has it.
	From v1alpha1.Role
	// Rules say it to the API server. They hold in the organization's namespace, or, where Organization is true, for
	// the Organization itself.
	Rules []rbacv1.PolicyRule
	// Organization says that the right is about the Organization itself, which is in no namespace.
	Organization bool
}

var (
	read   = []string{"get", "list", "watch"}
	change = []string{"create", "update", "patch", "delete"}
)

// Rights is the table. No role may read Secrets: kubeconfigs and credentials go in, and come out only as
// short-lived credentials of their own.
func Rights() []Right {
	return []Right{
		{
			What: "see clusters, node pools, machines, provisioners and control planes of the organization, and their events",
			From: v1alpha1.RoleViewer,
			Rules: []rbacv1.PolicyRule{
				ours(read, "clusters", "nodepools", "machines", "provisioners", "controlplanes"),
				{APIGroups: []string{"events.k8s.io", ""}, Resources: []string{"events"}, Verbs: read},
			},
		},
		{
			What: "see backups of its clusters, their schedules, and what was restored", From: v1alpha1.RoleViewer,
			Rules: []rbacv1.PolicyRule{ours(read, "backups", "backupschedules", "restores")},
		},
		{What: "see rotations of the credentials of its clusters", From: v1alpha1.RoleViewer, Rules: []rbacv1.PolicyRule{ours(read, "rotations")}},
		{
			What: "see upgrades of its clusters, and what rehearsals have found", From: v1alpha1.RoleViewer,
			Rules: []rbacv1.PolicyRule{ours(read, "upgrades", "rehearsals")},
		},
		{
			What: "see the organization: its members, quota and use", From: v1alpha1.RoleViewer, Organization: true,
			Rules: []rbacv1.PolicyRule{ours([]string{"get"}, "organizations")},
		},
		{What: "see what runs in its clusters (role view)", From: v1alpha1.RoleViewer, Rules: access(v1alpha1.AccessView)},
		{
			What: "see the inventory of its clusters: images, versions, nodes, findings, now and before", From: v1alpha1.RoleViewer,
			Rules: []rbacv1.PolicyRule{ours(read, Inventory)},
		},
		{What: "change what runs in its clusters (role edit)", From: v1alpha1.RoleDeveloper, Rules: access(v1alpha1.AccessEdit)},
		{
			What: "create, change, scale and delete clusters and node pools, and replace machines", From: v1alpha1.RoleOperator,
			Rules: []rbacv1.PolicyRule{
				ours(change, "clusters", "nodepools"),
				ours([]string{"get", "update", "patch"}, "nodepools/scale"),
				ours([]string{"update", "patch", "delete"}, "machines"),
			},
		},
		{
			What: "back up clusters, at times too, restore them, and delete backups", From: v1alpha1.RoleOperator,
			Rules: []rbacv1.PolicyRule{ours(change, "backups", "backupschedules", "restores")},
		},
		{What: "rotate the credentials of clusters", From: v1alpha1.RoleOperator, Rules: []rbacv1.PolicyRule{ours(change, "rotations")}},
		{
			What: "upgrade clusters, rehearse, pause and end that", From: v1alpha1.RoleOperator,
			Rules: []rbacv1.PolicyRule{ours(change, "upgrades", "rehearsals")},
		},
		{What: "administer its clusters (role cluster-admin)", From: v1alpha1.RoleOperator, Rules: access(v1alpha1.AccessClusterAdmin)},
		{
			What: "read the audit log of the organization", From: v1alpha1.RoleOperator,
			Rules: []rbacv1.PolicyRule{ours(read, AuditRecords)},
		},
		{
			What: "say who belongs to the organization", From: v1alpha1.RoleOwner, Organization: true,
			Rules: []rbacv1.PolicyRule{ours([]string{"update", "patch"}, "organizations")},
		},
		{
			What: "create service accounts and their tokens", From: v1alpha1.RoleOwner,
			Rules: []rbacv1.PolicyRule{ours(append([]string{"get", "list"}, change...), ServiceAccounts)},
		},
		{
			What: "create, change and delete provisioners of the organization", From: v1alpha1.RoleOwner,
			Rules: []rbacv1.PolicyRule{ours(change, "provisioners")},
		},
		{
			What: "take a cluster's break-glass kubeconfig, which belongs to no user in particular and lasts",
			From: v1alpha1.RoleOwner, Rules: access(AccessBreakGlass),
		},
	}
}

// Has says whether a role has a right.
func (r Right) Has(who v1alpha1.Role) bool { return rank(who) <= rank(r.From) }

// Needed returns the lowest role that may do something in its organization, and "" when only administrators may. Resource is a
// plural of KQueen's group, with a subresource after a slash. It is pure.
func Needed(verb, resource string) v1alpha1.Role {
	lowest := v1alpha1.Role("")
	for _, right := range Rights() {
		gives := slices.ContainsFunc(right.Rules, func(p rbacv1.PolicyRule) bool {
			return slices.Contains(p.APIGroups, v1alpha1.GroupVersion.Group) && slices.Contains(p.Resources, resource) && slices.Contains(p.Verbs, verb)
		})
		if gives && (lowest == "" || rank(right.From) > rank(lowest)) {
			lowest = right.From
		}
	}
	return lowest
}

func ours(verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: resources, Verbs: verbs}
}

func access(kind string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{ours([]string{VerbAccess}, "clusters/"+kind)}
}
