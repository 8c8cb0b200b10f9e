package server

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/api/v1alpha1"
)

// kind is a noun that the API serves. A new noun is a line of the table below.
type kind struct {
	// name such as "Cluster", and plural such as "clusters", the segment of the path and the resource of RBAC.
	name, plural string
	// writes says that callers may create, change and delete it; others come to be by themselves.
	creates, changes, deletes bool
	// inOrganization says that it belongs to an organization.
	inOrganization bool
	// shared says that those of the system's namespace are listed beside the organization's own.
	shared bool
	list   func() client.ObjectList
	object func() client.Object
	about  string
}

func kinds() []kind {
	return []kind{
		{
			name: "Organization", plural: "organizations", creates: true, changes: true, deletes: true,
			list: func() client.ObjectList { return &v1alpha1.OrganizationList{} }, object: func() client.Object { return &v1alpha1.Organization{} },
			about: "A tenant of KQueen: a team, a department, a customer.",
		},
		{
			name: "Release", plural: "releases",
			list: func() client.ObjectList { return &v1alpha1.ReleaseList{} }, object: func() client.Object { return &v1alpha1.Release{} },
			about: "A Kubernetes version that clusters can have.",
		},
		{
			name: "Provisioner", plural: "provisioners", creates: true, changes: true, deletes: true, inOrganization: true, shared: true,
			list: func() client.ObjectList { return &v1alpha1.ProvisionerList{} }, object: func() client.Object { return &v1alpha1.Provisioner{} },
			about: "A configured way to get clusters.",
		},
		{
			name: "Cluster", plural: "clusters", creates: true, changes: true, deletes: true, inOrganization: true,
			list: func() client.ObjectList { return &v1alpha1.ClusterList{} }, object: func() client.Object { return &v1alpha1.Cluster{} },
			about: "One Kubernetes cluster, however it is made.",
		},
		{
			name: "NodePool", plural: "nodepools", creates: true, changes: true, deletes: true, inOrganization: true,
			list: func() client.ObjectList { return &v1alpha1.NodePoolList{} }, object: func() client.Object { return &v1alpha1.NodePool{} },
			about: "Nodes of a cluster that are alike.",
		},
		{
			name: "Machine", plural: "machines", changes: true, deletes: true, inOrganization: true,
			list: func() client.ObjectList { return &v1alpha1.MachineList{} }, object: func() client.Object { return &v1alpha1.Machine{} },
			about: "One node of a cluster, from its making to its end.",
		},
		{
			name: "IdentityProvider", plural: "identityproviders", creates: true, changes: true, deletes: true,
			list: func() client.ObjectList { return &v1alpha1.IdentityProviderList{} }, object: func() client.Object { return &v1alpha1.IdentityProvider{} },
			about: "An OpenID Connect provider by which people sign in.",
		},
		{
			name: "ControlPlane", plural: "controlplanes", inOrganization: true,
			list: func() client.ObjectList { return &v1alpha1.ControlPlaneList{} }, object: func() client.Object { return &v1alpha1.ControlPlane{} },
			about: "What KQueen runs of a cluster that it hosts.",
		},
	}
}

// Kinds returns an object of each kind that lists are read from, so that their caches can be filled before.
func Kinds() []client.Object {
	var all []client.Object
	for _, k := range kinds() {
		all = append(all, k.object())
	}
	return all
}

// gvk is how the admin plane calls the kind.
func (k kind) gvk() schema.GroupVersionKind { return v1alpha1.GroupVersion.WithKind(k.name) }

// path of the collection, below the prefix of the API.
func (k kind) path() string {
	if k.inOrganization {
		return "/organizations/{organization}/" + k.plural
	}
	return "/" + k.plural
}

// parameter is the name of the path's last parameter.
func (k kind) parameter() string { return strings.ToLower(k.name[:1]) + k.name[1:] }

// definitions are the schemas of all kinds, by name, as the admin plane has them.
func definitions() (map[string]*apiextensionsv1.JSONSchemaProps, error) {
	all, err := crds.All()
	if err != nil {
		return nil, err
	}
	byKind := map[string]*apiextensionsv1.JSONSchemaProps{}
	for _, crd := range all {
		byKind[crd.Spec.Names.Kind] = crd.Spec.Versions[0].Schema.OpenAPIV3Schema
	}
	return byKind, nil
}
