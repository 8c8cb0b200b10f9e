package objects

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/crds"
	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
)

// kind is a kind of objects that the API serves, with the types that the admin plane has for it.
type kind struct {
	rest.Kind

	object func() client.Object
	list   func() client.ObjectList
}

// kinds are those of the table beside the wire types.
func kinds() []kind {
	types := map[string]kind{
		"Organization":     typed[v1alpha1.Organization, v1alpha1.OrganizationList](),
		"Release":          typed[v1alpha1.Release, v1alpha1.ReleaseList](),
		"Provisioner":      typed[v1alpha1.Provisioner, v1alpha1.ProvisionerList](),
		"Cluster":          typed[v1alpha1.Cluster, v1alpha1.ClusterList](),
		"NodePool":         typed[v1alpha1.NodePool, v1alpha1.NodePoolList](),
		"Machine":          typed[v1alpha1.Machine, v1alpha1.MachineList](),
		"IdentityProvider": typed[v1alpha1.IdentityProvider, v1alpha1.IdentityProviderList](),
		"BackupStore":      typed[v1alpha1.BackupStore, v1alpha1.BackupStoreList](),
		"Backup":           typed[v1alpha1.Backup, v1alpha1.BackupList](),
		"BackupSchedule":   typed[v1alpha1.BackupSchedule, v1alpha1.BackupScheduleList](),
		"Restore":          typed[v1alpha1.Restore, v1alpha1.RestoreList](),
		"Rotation":         typed[v1alpha1.Rotation, v1alpha1.RotationList](),
		"Rehearsal":        typed[v1alpha1.Rehearsal, v1alpha1.RehearsalList](),
		"Upgrade":          typed[v1alpha1.Upgrade, v1alpha1.UpgradeList](),
		"ControlPlane":     typed[v1alpha1.ControlPlane, v1alpha1.ControlPlaneList](),
	}
	var all []kind
	for _, k := range rest.Kinds() {
		made := types[k.Name]
		made.Kind = k
		all = append(all, made)
	}
	return all
}

func typed[O, L any, PO interface {
	*O
	client.Object
}, PL interface {
	*L
	client.ObjectList
}]() kind {
	return kind{object: func() client.Object { return PO(new(O)) }, list: func() client.ObjectList { return PL(new(L)) }}
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
func (k kind) gvk() schema.GroupVersionKind { return v1alpha1.GroupVersion.WithKind(k.Name) }

// path of the collection, below the prefix of the API.
func (k kind) path() string { return k.Route(rest.VerbList).Path }

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
