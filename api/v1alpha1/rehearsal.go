package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a Rehearsal, beside Planned and those of every kind, in the order in which they come true.
const (
	// ConditionCopied is true once all that the cluster stores is copied, of one revision.
	ConditionCopied = "Copied"
	// ConditionRehearsed is true once API servers of all versions on the way have run over the copy.
	ConditionRehearsed = "Rehearsed"
	// ConditionCopyRemoved is true once nothing of the copy is left.
	ConditionCopyRemoved = "CopyRemoved"
)

// Reasons of a Rehearsal's conditions.
const (
	// ReasonRehearsalRefused: the rehearsal cannot be done as it is asked for; the message names the field.
	ReasonRehearsalRefused = "RehearsalRefused"
	// ReasonRehearsalWaiting: something else goes first, such as another rehearsal or a restore; the message names it.
	ReasonRehearsalWaiting = "RehearsalWaiting"
	// ReasonRehearsalCopying: what the cluster stores is being copied.
	ReasonRehearsalCopying = "RehearsalCopying"
	// ReasonRehearsalStarting: an API server of the next version is being started over the copy.
	ReasonRehearsalStarting = "RehearsalStarting"
	// ReasonRehearsalReading: each object of the copy is being read and written by the next version.
	ReasonRehearsalReading = "RehearsalReading"
	// ReasonRehearsalRemoving: the copy is being removed.
	ReasonRehearsalRemoving = "RehearsalRemoving"
	// ReasonRehearsalFailed: a part of the rehearsal failed; the message has its cause.
	ReasonRehearsalFailed = "RehearsalFailed"
	// ReasonRehearsalDone: this part of the rehearsal is done.
	ReasonRehearsalDone = "RehearsalDone"
)

// Rehearsal tries the upgrade of one cluster whose control plane KQueen hosts in a copy of all that the cluster stores: API servers of the
// versions on the way run over the copy, and read and write each object. The cluster itself is only read. A Rehearsal that has ended has
// removed its copy, and does nothing more.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=reh,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.fromVersion`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Blocking",type=integer,JSONPath=`.status.blockingFindings`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters"
type Rehearsal struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RehearsalSpec `json:"spec"`
	// +optional
	Status RehearsalStatus `json:"status,omitempty"`
}

// RehearsalSpec says which upgrade is tried.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a rehearsal cannot be changed; delete it, and create another one"
type RehearsalSpec struct {
	// ClusterName names the Cluster, in the same namespace. KQueen hosts its control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// Version of Kubernetes that the upgrade would lead to, such as "v1.37.2". It may be several minors ahead: each of them is tried.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version"`
	// Rollback says that the upgrade would go back to that version, which is older.
	// +optional
	Rollback bool `json:"rollback,omitempty"`
}

// Values of status.findings[].check beside those of an Upgrade: what only a rehearsal can find.
const (
	// CheckServerStarts: API servers of all versions on the way start over what is stored.
	CheckServerStarts = "ServerStarts"
	// CheckServedAPIs: each kind of object that is stored has an API in each version on the way, and no object was last written by an API
	// that is gone there.
	CheckServedAPIs = "ServedAPIs"
	// CheckStoredObjects: each object that is stored can be read.
	CheckStoredObjects = "StoredObjects"
	// CheckObjectUpdates: each object can be written again as it is.
	CheckObjectUpdates = "ObjectUpdates"
)

// RehearsalStatus is what is known of a rehearsal.
type RehearsalStatus struct {
	Status `json:",inline"`
	// ClusterUID is the UID of the Cluster.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// FromVersion is the version that the cluster had.
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// ControlPlaneName names the ControlPlane that has the copy, while there is one.
	// +optional
	ControlPlaneName string `json:"controlPlaneName,omitempty"`
	// Revision of the data store of which the copy is, and CopiedObjects how many objects it has.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// +optional
	CopiedObjects int64 `json:"copiedObjects,omitempty"`
	// CopiedTime is when the copy was complete.
	// +optional
	CopiedTime *metav1.Time `json:"copiedTime,omitempty"`
	// Versions are those on the way, in their order, with what was done in each.
	// +optional
	// +listType=atomic
	Versions []RehearsedVersion `json:"versions,omitempty"`
	// Findings are what stands against the upgrade, or is to be known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Findings []UpgradeFinding `json:"findings,omitempty"`
	// OmittedFindings is how many findings there are beside those.
	// +optional
	OmittedFindings int32 `json:"omittedFindings,omitempty"`
	// BlockingFindings is how many findings would keep the upgrade from going on, or break it.
	// +optional
	BlockingFindings int32 `json:"blockingFindings,omitempty"`
	// CompletionTime is when the rehearsal ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RehearsedVersion is what was done in one version.
type RehearsedVersion struct {
	// Version of the API server.
	Version string `json:"version"`
	// StartedTime is when the API server was begun to be started, and FinishedTime when all objects were looked at, or it was given up.
	// +optional
	StartedTime *metav1.Time `json:"startedTime,omitempty"`
	// +optional
	FinishedTime *metav1.Time `json:"finishedTime,omitempty"`
	// Kinds is how many kinds of objects are stored, Objects how many objects were read, and Written how many of them were written again.
	// +optional
	Kinds int64 `json:"kinds,omitempty"`
	// +optional
	Objects int64 `json:"objects,omitempty"`
	// +optional
	Written int64 `json:"written,omitempty"`
}

// Shared returns the part of the status that all kinds have.
func (r *Rehearsal) Shared() *Status { return &r.Status.Status }

// +kubebuilder:object:root=true

// RehearsalList is a list of rehearsals.
type RehearsalList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Rehearsal `json:"items"`
}
