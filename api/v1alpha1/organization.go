package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of an Organization, beside those of every kind.
const (
	// ConditionNamespaceReady is true when the organization's namespace is there.
	ConditionNamespaceReady = "NamespaceReady"
	// ConditionRolesBound is true when what each role may do in the organization is granted to its group.
	ConditionRolesBound = "RolesBound"
)

// Reasons of an Organization's conditions.
const (
	// ReasonNamespaceCreated: the namespace is there and belongs to the organization.
	ReasonNamespaceCreated = "NamespaceCreated"
	// ReasonNamespaceForeign: a namespace of that name is there but was not created for the organization.
	ReasonNamespaceForeign = "NamespaceForeign"
	// ReasonClustersRemain: the organization is being deleted and still has clusters.
	ReasonClustersRemain = "ClustersRemain"
	// ReasonNamespaceTerminating: the namespace is being deleted and is not gone yet.
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonRolesBound: what each role may do is granted.
	ReasonRolesBound = "RolesBound"
	// ReasonRolesUnbound: what the roles may do could not be granted; the message says why.
	ReasonRolesUnbound = "RolesUnbound"
)

// NamespacePrefix prefixes an organization's name in the name of its namespace.
const NamespacePrefix = "org-"

// OrganizationOf returns the name of the organization that a namespace belongs to. Without one, it returns the namespace, and false.
func OrganizationOf(namespace string) (name string, ok bool) {
	return strings.CutPrefix(namespace, NamespacePrefix)
}

// Organization is a tenant of KQueen: a team, a department, a customer. It owns one
// namespace, in which its clusters live.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=org,categories=kqueen
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.status.namespace`
// +kubebuilder:printcolumn:name="Display Name",type=string,JSONPath=`.spec.displayName`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters: lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit"
type Organization struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec OrganizationSpec `json:"spec,omitempty"`
	// +optional
	Status OrganizationStatus `json:"status,omitempty"`
}

// OrganizationSpec is the desired state of an organization.
type OrganizationSpec struct {
	// DisplayName is the name that users read.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	DisplayName string `json:"displayName,omitempty"`
	// Members are the users, and groups of users, who belong to the organization. A user who is named several times has
	// the highest of the roles.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	Members []Member `json:"members,omitempty"`
	// Quota bounds what the organization may have. Only an administrator of the installation changes it.
	// +optional
	Quota *Quota `json:"quota,omitempty"`
	// ProvisionerNames are the names of the shared provisioners (those in kqueen-system) that the organization may use,
	// beside its own; all of them when the list is absent. What its own may do is said by drivers and dataStoreNames. Only an
	// administrator of the installation changes it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=253
	ProvisionerNames []string `json:"provisionerNames,omitempty"`
	// Releases are the Kubernetes versions that the organization may use for new clusters and upgrades: a whole one
	// such as "v1.36.3", or a minor such as "v1.36" for all of its patches. All of them when the list is
	// absent. Only an administrator of the installation changes it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=32
	// +kubebuilder:validation:items:Pattern=`^v[0-9]+\.[0-9]+(\.[0-9]+)?$`
	Releases []string `json:"releases,omitempty"`
	// Drivers are those by which clusters of the organization may be made, by shared provisioners and by its own. All of
	// them when the list is absent. Only an administrator of the installation changes it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Drivers []string `json:"drivers,omitempty"`
	// DataStoreNames are the names of those that may hold the control planes of the organization, by shared provisioners and by
	// its own. When the list is absent: those that the shared provisioners name which it may use. Only an administrator of
	// the installation changes it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=253
	DataStoreNames []string `json:"dataStoreNames,omitempty"`
	// MachineProviders are those that may create the organization's machines: local takes them from the host of KQueen, manual
	// leaves them to the user. When the list is absent: manual alone. Only an administrator of the installation changes it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=local;manual
	MachineProviders []string `json:"machineProviders,omitempty"`
	// PodSecurity is the weakest level that clusters of the organization may have: with privileged they may have any, with
	// restricted only that. When it is absent: baseline. Only an administrator of the installation changes it.
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	PodSecurity string `json:"podSecurity,omitempty"`
	// Egress is what the API servers of the organization's hosted clusters may call beside the nodes, pods and Services of their
	// own cluster. Only an administrator of the installation changes it.
	// +optional
	Egress *Egress `json:"egress,omitempty"`
	// Addons are settings of the applications that KQueen runs in the organization's clusters. They count more than the
	// provisioner's, and less than the cluster's own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Addons []AddonSetting `json:"addons,omitempty"`
}

// Egress is what API servers may call beside their own clusters.
type Egress struct {
	// Allow are ranges of addresses with a port: "192.0.2.0/24:443", "192.0.2.7:443" for one address, "[2001:db8::/64]:443" in
	// IPv6. They are added to those that are allowed to all organizations (kqueen up --egress-allow). The names of hosts are
	// not looked up. The host of KQueen, its machines, loopback, link-local addresses and the port of kubelets stay closed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^(\[[0-9a-fA-F:.]+(/[0-9]+)?\]|[0-9.]+(/[0-9]+)?):[0-9]+$`
	Allow []string `json:"allow,omitempty"`
}

// Member is a user or a group of users, and what they may do in the organization.
//
// +kubebuilder:validation:XValidation:rule="has(self.user) != has(self.group)",message="give either user or group"
type Member struct {
	// User is a name that signs in: "alice" for a user of this installation, "corp:alice@example.com" for one of the
	// identity provider corp.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	User string `json:"user,omitempty"`
	// Group of an identity provider, such as "corp:payments-developers".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Group string `json:"group,omitempty"`
	// Role says what they may do: owner, operator, developer or viewer.
	Role Role `json:"role"`
}

// Role is what a member may do in an organization. Each includes those after it: owner, operator, developer,
// viewer. docs/reference/roles.md has the table of what they may.
//
// +kubebuilder:validation:Enum=owner;operator;developer;viewer
type Role string

// Roles of an organization.
const (
	// RoleOwner may do everything in the organization, and say who belongs to it.
	RoleOwner Role = "owner"
	// RoleOperator creates, changes and deletes clusters and their nodes.
	RoleOperator Role = "operator"
	// RoleDeveloper uses the clusters.
	RoleDeveloper Role = "developer"
	// RoleViewer sees the clusters and what runs in them.
	RoleViewer Role = "viewer"
)

// Quota bounds what an organization may have. What is absent is not bounded.
type Quota struct {
	// Clusters is how many clusters there may be.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clusters *int32 `json:"clusters,omitempty"`
	// Nodes is how many nodes the node pools of all clusters may have together. A pool counts with the most that it
	// may have: the larger of spec.replicas and spec.maxReplicas.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Nodes *int32 `json:"nodes,omitempty"`
	// Machines is how many of those nodes each machine provider may create. They count as nodes do.
	// +optional
	Machines *MachineQuota `json:"machines,omitempty"`
	// CPU is how many processors those nodes may have together, such as "16": spec.template.resources.cpu of each pool
	// for each node that the pool counts with. A pool that does not say it counts with all of its host's. Pools whose
	// machines the user joins do not count.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('1M')) <= 0",message="must be from 0 to 1M"
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory is how many bytes of memory those nodes may have together, such as "64Gi". It counts like CPU.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('1Ei')) <= 0",message="must be from 0 to 1Ei"
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Store is how many bytes the control planes that KQueen hosts may hold in data stores together, such as "8Gi". Once
	// it is used up nothing in their clusters may grow, the organization gets no further cluster, and its control
	// planes say so.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('1Ei')) <= 0",message="must be from 0 to 1Ei"
	Store *resource.Quantity `json:"store,omitempty"`
}

// MachineQuota bounds how many nodes each machine provider may create. What is absent is not bounded.
type MachineQuota struct {
	// Local is how many machines there may be on the host of KQueen.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Local *int32 `json:"local,omitempty"`
	// Manual is how many machines users may join.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Manual *int32 `json:"manual,omitempty"`
}

// OrganizationStatus is what is known of an organization.
type OrganizationStatus struct {
	Status `json:",inline"`
	// Namespace is where the organization's objects live.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// +kubebuilder:object:root=true

// OrganizationList is a list of organizations.
type OrganizationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Organization `json:"items"`
}

// OwnedNamespace is the name of the namespace that the organization owns.
func (o *Organization) OwnedNamespace() string { return NamespacePrefix + o.Name }

// EgressAllowed is what spec.egress allows; nil for a nil Organization.
func (o *Organization) EgressAllowed() []string {
	if o == nil || o.Spec.Egress == nil {
		return nil
	}
	return o.Spec.Egress.Allow
}

// Shared returns the part of the status that all kinds have.
func (o *Organization) Shared() *Status { return &o.Status.Status }
