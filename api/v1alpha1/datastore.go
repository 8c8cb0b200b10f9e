package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a DataStore, beside those of every kind.
const (
	// ConditionConnected is true while the data store answers and its version is new enough.
	ConditionConnected = "Connected"
	// ConditionNearlyFull is true while so little is left of the etcd that its gate lets nothing grow in it. Deletions go on.
	ConditionNearlyFull = "NearlyFull"
)

// Reasons of a DataStore's conditions.
const (
	// ReasonConnected: the data store answers, and its version is new enough.
	ReasonConnected = "Connected"
	// ReasonVersionTooOld: the version has known holes between tenants; the message names the floor.
	ReasonVersionTooOld = "VersionTooOld"
	// ReasonCredentialsInvalid: the Secret with the credentials is missing or cannot be used.
	ReasonCredentialsInvalid = "CredentialsInvalid"
	// ReasonUnreachable: the data store does not answer.
	ReasonUnreachable = "Unreachable"
	// ReasonAlarm: the data store has raised an alarm, such as being full.
	ReasonAlarm = "Alarm"
	// ReasonKeyspacesRemain: the data store is being deleted and still holds control planes.
	ReasonKeyspacesRemain = "KeyspacesRemain"
	// ReasonSpaceScarce: nine tenths of the etcd's file are in use, and nothing grows but what deletions need.
	ReasonSpaceScarce = "SpaceScarce"
	// ReasonSpaceLast: 95 of 100 parts of the etcd's file are in use, and nothing grows.
	ReasonSpaceLast = "SpaceLast"
	// ReasonSpaceEnough: there is enough space again.
	ReasonSpaceEnough = "SpaceEnough"
)

// DataStore is an etcd that holds the keyspaces of control planes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=dst,categories=kqueen
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.members`
// +kubebuilder:printcolumn:name="Endpoints",type=string,JSONPath=`.spec.endpoints`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type DataStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec DataStoreSpec `json:"spec"`
	// +optional
	Status DataStoreStatus `json:"status,omitempty"`
}

// DataStoreSpec is where an etcd is and how to speak to it.
type DataStoreSpec struct {
	// Endpoints are the client URLs of the etcd members.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=9
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^https://[^/]+$`
	Endpoints []string `json:"endpoints"`
	// CredentialsRef names a Secret with ca.crt and ca.key, which sign the tenants' client
	// certificates, and root.crt and root.key, the client certificate of etcd's user "root".
	CredentialsRef SecretReference `json:"credentialsRef"`
}

// DataStoreStatus is what is known of an etcd. How full it is changes all the time and is not
// here, but for the condition NearlyFull.
type DataStoreStatus struct {
	Status `json:",inline"`
	// Version of etcd.
	// +optional
	Version string `json:"version,omitempty"`
	// Members is the number of etcd members.
	// +optional
	Members int32 `json:"members,omitempty"`
}

// +kubebuilder:object:root=true

// DataStoreList is a list of data stores.
type DataStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DataStore `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (d *DataStore) Shared() *Status { return &d.Status.Status }
