package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of an Organization, beside those of every kind.
const (
	// ConditionNamespaceReady is true when the organization's namespace is there.
	ConditionNamespaceReady = "NamespaceReady"
)

// Reasons of an Organization's conditions.
const (
	// ReasonNamespaceCreated: the namespace is there and belongs to the organization.
	ReasonNamespaceCreated = "NamespaceCreated"
	// ReasonNamespaceForeign: a namespace of that name is there but was not made for the organization.
	ReasonNamespaceForeign = "NamespaceForeign"
	// ReasonClustersRemain: the organization is being deleted and still has clusters.
	ReasonClustersRemain = "ClustersRemain"
	// ReasonNamespaceTerminating: the namespace is being deleted and is not gone yet.
	ReasonNamespaceTerminating = "NamespaceTerminating"
)

// NamespacePrefix stands before an organization's name in the name of its namespace.
const NamespacePrefix = "org-"

// Organization is a tenant of KQueen: a team, a department, a customer. It owns one
// namespace, in which its clusters live.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=org,categories=kqueen
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
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

// OrganizationSpec is what an organization wants.
type OrganizationSpec struct {
	// DisplayName is the name that people read.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	DisplayName string `json:"displayName,omitempty"`
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

// Shared returns the part of the status that all kinds have.
func (o *Organization) Shared() *Status { return &o.Status.Status }
