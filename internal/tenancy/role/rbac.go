package role

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// prefix begins the names of RBAC objects that come from here.
const prefix = "kqueen:"

// Shared are the RBAC objects that an installation has once: what the roles mean, what administrators may, and
// what every signed-in user may.
func Shared() []client.Object {
	objects := []client.Object{
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: prefix + "admin"},
			Rules: []rbacv1.PolicyRule{
				ours([]string{"*"}, "*"),
				{APIGroups: []string{"events.k8s.io", ""}, Resources: []string{"events"}, Verbs: read},
				{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: read},
			},
		},
		bindAll(prefix+"admin", prefix+"admin", Admins),
		&rbacv1.ClusterRole{
			ObjectMeta: metav1.ObjectMeta{Name: prefix + "authenticated"},
			Rules:      []rbacv1.PolicyRule{ours(read, "releases")},
		},
		bindAll(prefix+"authenticated", prefix+"authenticated", Authenticated),
		&rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: prefix + "shared-provisioners"},
			Rules:      []rbacv1.PolicyRule{ours(read, "provisioners")},
		},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: prefix + "shared-provisioners"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: prefix + "shared-provisioners"},
			Subjects:   []rbacv1.Subject{group(Authenticated)},
		},
	}
	for _, r := range All() {
		cr := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: prefix + string(r)}}
		for _, right := range Rights() {
			if !right.Organization && right.Has(r) {
				cr.Rules = append(cr.Rules, right.Rules...)
			}
		}
		objects = append(objects, cr)
	}
	return objects
}

// Bindings are the RBAC objects of one organization: what its groups may do in its namespace, and with the
// Organization itself. They belong to the organization and go with it.
func Bindings(o *v1alpha1.Organization) []client.Object {
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(o, v1alpha1.GroupVersion.WithKind("Organization"))}
	var objects []client.Object
	for _, r := range All() {
		subjects := []rbacv1.Subject{group(Group(o.Name, r))}
		itself := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: prefix + "org:" + o.Name + ":" + string(r), OwnerReferences: owner}}
		for _, right := range Rights() {
			if right.Organization && right.Has(r) {
				itself.Rules = append(itself.Rules, only(right.Rules, o.Name)...)
			}
		}
		objects = append(objects,
			&rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: o.OwnedNamespace(), Name: prefix + string(r), OwnerReferences: owner},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: prefix + string(r)},
				Subjects:   subjects,
			},
			itself,
			&rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: itself.Name, OwnerReferences: owner},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: itself.Name},
				Subjects:   subjects,
			},
		)
	}
	return objects
}

// only narrows rules to the object of one name.
func only(rules []rbacv1.PolicyRule, name string) []rbacv1.PolicyRule {
	narrowed := make([]rbacv1.PolicyRule, len(rules))
	for i, r := range rules {
		r.ResourceNames = []string{name}
		narrowed[i] = r
	}
	return narrowed
}

func bindAll(name, clusterRole, to string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
		Subjects:   []rbacv1.Subject{group(to)},
	}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}
}
