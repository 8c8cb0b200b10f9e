// Package v1alpha1 holds the API types of KQueen: what a user wants, and what is
// known of it, as Kubernetes custom resources of the group kqueen.io.
//
// It is the public face of the project. Custom resource definitions and the
// pages in docs/reference/kinds are generated from here. It imports nothing of KQueen;
// every package may import it.
//
// +kubebuilder:object:generate=true
// +groupName=kqueen.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// "make generate" does the same, and builds controller-gen first where it is not built.
//go:generate ../../bin/tools/controller-gen object paths=. crd:crdVersions=v1 output:crd:artifacts:config=../crds
//go:generate go run -trimpath -buildvcs=false ../../docs/generate -crds ../crds -types . -out ../../docs/reference/kinds

// GroupVersion is the API group and version of all kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "kqueen.io", Version: "v1alpha1"}

// AddToScheme registers all kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&Organization{}, &OrganizationList{},
		&Provisioner{}, &ProvisionerList{},
		&Cluster{}, &ClusterList{},
		&ControlPlane{}, &ControlPlaneList{},
		&NodePool{}, &NodePoolList{},
		&Machine{}, &MachineList{},
		&DataStore{}, &DataStoreList{},
		&Release{}, &ReleaseList{},
		&IdentityProvider{}, &IdentityProviderList{},
		&BackupStore{}, &BackupStoreList{},
		&Backup{}, &BackupList{},
		&BackupSchedule{}, &BackupScheduleList{},
		&Restore{}, &RestoreList{},
		&Rehearsal{}, &RehearsalList{},
		&Rotation{}, &RotationList{},
		&Upgrade{}, &UpgradeList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
