package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a Backup, beside those of every kind.
const (
	// ConditionTaken is true once all of it is in its store and was read back.
	ConditionTaken = "Taken"
	// ConditionVerified is true while the last look found all of it as it was written.
	ConditionVerified = "Verified"
)

// Reasons of the conditions of a Backup.
const (
	// ReasonBackupTaken: all of the backup is in its store.
	ReasonBackupTaken = "BackupTaken"
	// ReasonBackupRunning: the backup is being taken, verified or removed.
	ReasonBackupRunning = "BackupRunning"
	// ReasonBackupFailed: it could not be taken; the message has the cause.
	ReasonBackupFailed = "BackupFailed"
	// ReasonBackupRefused: it cannot be taken as it is asked for; the message names the field.
	ReasonBackupRefused = "BackupRefused"
	// ReasonBackupVerified: all of it was read, and is what was written.
	ReasonBackupVerified = "BackupVerified"
	// ReasonBackupDamaged: it is not whole any more and cannot be restored; the message says what is damaged.
	ReasonBackupDamaged = "BackupDamaged"
	// ReasonBackupUnreadable: it could not be looked at; the message has the cause.
	ReasonBackupUnreadable = "BackupUnreadable"
	// ReasonBackupInUse: it is being deleted while a Restore reads it.
	ReasonBackupInUse = "BackupInUse"
)

// Backup is the state of a cluster's Kubernetes API at one moment: all objects, but no volumes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=bk,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Taken",type=date,JSONPath=`.status.takenTime`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters"
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackupSpec `json:"spec"`
	// +optional
	Status BackupStatus `json:"status,omitempty"`
}

// BackupSpec says what is backed up, and where to.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a backup cannot be changed; create another one"
type BackupSpec struct {
	// ClusterName names the Cluster, in the same namespace. KQueen hosts its control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// StoreName names the BackupStore.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	StoreName string `json:"storeName,omitempty"`
	// AsOfTime is a moment of the past: the backup is of the cluster as it was then, made of an earlier backup in the same store and of the changes
	// that a BackupSchedule with spec.recoveryWindowHours has recorded since. Empty for now.
	// +optional
	AsOfTime *metav1.Time `json:"asOfTime,omitempty"`
}

// BackupStatus is what is known of a backup.
type BackupStatus struct {
	Status `json:",inline"`
	// ClusterUID is the UID of the Cluster, and ControlPlaneUID that of its ControlPlane.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// +optional
	ControlPlaneUID string `json:"controlPlaneUID,omitempty"`
	// Version of Kubernetes that wrote what is in it.
	// +optional
	Version string `json:"version,omitempty"`
	// Revision of the data store at which the cluster was read.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// TakenTime is when the backup was complete.
	// +optional
	TakenTime *metav1.Time `json:"takenTime,omitempty"`
	// VerifiedTime is when all of it was read the last time and was what was written.
	// +optional
	VerifiedTime *metav1.Time `json:"verifiedTime,omitempty"`
	// Objects is how many objects are in it, and Size how many bytes they have.
	// +optional
	Objects int64 `json:"objects,omitempty"`
	// +optional
	Size *resource.Quantity `json:"size,omitempty"`
	// NewSize is how many bytes were written for it; the rest was in the store, from earlier backups of the cluster.
	// +optional
	NewSize *resource.Quantity `json:"newSize,omitempty"`
	// Digest of its manifest, "sha256:…", by which it is known from one that took its place.
	// +optional
	Digest string `json:"digest,omitempty"`
}

// IsTaken says whether there is a backup that can be restored or removed.
func (b *Backup) IsTaken() bool { return b.Status.Digest != "" }

// Shared returns the part of the status that all kinds have.
func (b *Backup) Shared() *Status { return &b.Status.Status }

// +kubebuilder:object:root=true

// BackupList is a list of backups.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}
