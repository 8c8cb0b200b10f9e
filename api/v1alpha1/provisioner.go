package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a Provisioner, beside those of every kind.
const (
	// ConditionDriverReady is true when the driver is known and takes the parameters.
	ConditionDriverReady = "DriverReady"
	// ConditionClustersGone is false while the provisioner is being deleted and there are clusters of it, which need
	// it to be removed.
	ConditionClustersGone = "ClustersGone"
)

// Reasons of a Provisioner's conditions.
const (
	// ReasonDriverAccepted: the driver is known and takes the parameters.
	ReasonDriverAccepted = "DriverAccepted"
	// ReasonDriverUnknown: this installation has no driver of that name.
	ReasonDriverUnknown = "DriverUnknown"
	// ReasonParametersInvalid: the driver does not take the parameters; the message names the field.
	ReasonParametersInvalid = "ParametersInvalid"
	// ReasonCredentialsMissing: the driver needs credentials that are not set; the message names the key.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonProvisionerInUse: the provisioner is being deleted and there are clusters of it; the message names them.
	ReasonProvisionerInUse = "ProvisionerInUse"
)

const (
	// SecretTypeProvisionerCredentials is the type of the Secret with the credentials of a Provisioner.
	SecretTypeProvisionerCredentials corev1.SecretType = "kqueen.io/provisioner-credentials" //nolint:gosec // names a type
	// AnnotationSetAt on such a Secret, and on that of a Cluster, is when they were set last, as RFC 3339 has it.
	AnnotationSetAt = "kqueen.io/set-at"
)

// Provisioner is a configured way to get clusters: a driver and its parameters. One that
// stands in the namespace kqueen-system can be used by every organization.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=prov,categories=kqueen
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driver`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Provisioner struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ProvisionerSpec `json:"spec"`
	// +optional
	Status ProvisionerStatus `json:"status,omitempty"`
}

// ProvisionerSpec is the configuration of a provisioner.
type ProvisionerSpec struct {
	// Driver is the name of the driver, such as "hosted". It cannot be changed, because the
	// clusters that it created would be left behind.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="driver cannot be changed; create a new Provisioner instead"
	Driver string `json:"driver"`
	// Parameters are the driver's own settings. Their schema is the driver's: see `kqueen provisioner describe`.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
	// Addons are settings of the applications that KQueen runs in the clusters of this provisioner. Those of the organization
	// and of the cluster count more.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Addons []AddonSetting `json:"addons,omitempty"`
}

// ProvisionerStatus is what is known of a provisioner.
type ProvisionerStatus struct {
	Status `json:",inline"`
	// Driver is what the driver says of itself.
	// +optional
	Driver *DriverDescription `json:"driver,omitempty"`
}

// DriverDescription is what a driver says of itself.
type DriverDescription struct {
	// Summary is one sentence.
	Summary string `json:"summary"`
	// ParametersSchema is the JSON Schema of spec.parameters.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	ParametersSchema apiextensionsv1.JSON `json:"parametersSchema"`
	// ClusterParametersSchema is the JSON Schema of spec.parameters of the clusters.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	ClusterParametersSchema apiextensionsv1.JSON `json:"clusterParametersSchema"`
	// Credentials are those that the driver takes, in the order in which a form asks for them.
	// +optional
	// +listType=atomic
	Credentials []DriverCredential `json:"credentials,omitempty"`
	// ClusterCredentials are those that the driver takes for each cluster, which users set for it.
	// +optional
	// +listType=atomic
	ClusterCredentials []DriverCredential `json:"clusterCredentials,omitempty"`
	// Features are what the driver can do beyond creating, showing and removing clusters: Adoption, Kubeconfigs, NodePools,
	// PodSecurity, Sizes, UpgradeOptions.
	// +optional
	// +listType=set
	Features []string `json:"features,omitempty"`
}

// DriverCredential is one value with which a driver proves itself to others.
type DriverCredential struct {
	// Key of the value.
	Key string `json:"key"`
	// Description is one sentence.
	// +optional
	Description string `json:"description,omitempty"`
	// Optional says that the driver can do without.
	// +optional
	Optional bool `json:"optional,omitempty"`
}

// +kubebuilder:object:root=true

// ProvisionerList is a list of provisioners.
type ProvisionerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Provisioner `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (p *Provisioner) Shared() *Status { return &p.Status.Status }

// CredentialsSecret is the name of the Secret with what the driver proves itself with to others, in the Provisioner's
// namespace. It is written by KQueen alone, goes with the Provisioner, and is never shown.
func (p *Provisioner) CredentialsSecret() string { return "provisioner-" + string(p.UID) }
