package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a Restore, beside those of every kind, in the order in which they come true.
const (
	// ConditionBackupWhole is true once all of the backup was read, is what was written, and belongs to the cluster.
	ConditionBackupWhole = "BackupWhole"
	// ConditionControlPlaneStopped is true while the control plane stands still for the restore, and after it.
	ConditionControlPlaneStopped = "ControlPlaneStopped"
	// ConditionStateSaved is true once the state that the restore is about to change is in a backup of its own.
	ConditionStateSaved = "StateSaved"
	// ConditionStateWritten is true once the cluster has the state of the backup.
	ConditionStateWritten = "StateWritten"
	// ConditionServing is true once the control plane has answered again.
	ConditionServing = "Serving"
)

// Reasons of a Restore's conditions.
const (
	// ReasonRestoreRefused: the restore cannot be done as it is asked for; the message names the field.
	ReasonRestoreRefused = "RestoreRefused"
	// ReasonRestoreReading: the backup is being read or compared.
	ReasonRestoreReading = "RestoreReading"
	// ReasonRestoreStopping: the control plane is being stopped.
	ReasonRestoreStopping = "RestoreStopping"
	// ReasonRestoreWaiting: another restore of the cluster goes first; the message names it.
	ReasonRestoreWaiting = "RestoreWaiting"
	// ReasonRestoreSaving: the state before the restore is being backed up.
	ReasonRestoreSaving = "RestoreSaving"
	// ReasonRestoreWriting: the state is being written.
	ReasonRestoreWriting = "RestoreWriting"
	// ReasonRestoreFailed: a step failed; the message has its cause.
	ReasonRestoreFailed = "RestoreFailed"
	// ReasonRestoreStarting: the control plane is being started.
	ReasonRestoreStarting = "RestoreStarting"
	// ReasonRestoreDone: this step of the restore is done.
	ReasonRestoreDone = "RestoreDone"
)

// Restore brings a cluster back to the state of a backup, in place. Its control plane stands still meanwhile. What the cluster was
// before is kept in a backup of its own, so that a restore can be undone by another one. A Restore that has ended does nothing more.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rst,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.status.clusterName`
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.spec.backupName`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters"
type Restore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RestoreSpec `json:"spec"`
	// +optional
	Status RestoreStatus `json:"status,omitempty"`
}

// RestoreSpec says what is restored.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a restore cannot be changed; create another one"
type RestoreSpec struct {
	// BackupName names the Backup, in the same namespace. The cluster is the one that it was taken of.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BackupName string `json:"backupName"`
	// CompareOnly asks what a restore would change, and changes nothing. The control plane goes on.
	// +optional
	CompareOnly bool `json:"compareOnly,omitempty"`
	// Include names the objects that are restored; everything else stays as it is. Empty for all. Each is KIND/NAMESPACE/NAME, or KIND/NAME for
	// one in no namespace, such as "Secret/shop/key"; * stands for all names. A KIND may have its group, such as "Widget.example.com".
	// "Namespace/NAME" is the namespace with all that is in it. An object that the backup does not have is removed.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=600
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[A-Za-z][-A-Za-z0-9.]*(/[^/]+){1,2}$')",message="has to be KIND/NAME or KIND/NAMESPACE/NAME, such as Secret/shop/key"
	Include []string `json:"include,omitempty"`
}

// RestoreStatus is what is known of a restore.
type RestoreStatus struct {
	Status `json:",inline"`
	// ClusterName is the name of the cluster.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`
	// Saved is the name of the Backup of the state before the restore.
	// +optional
	Saved string `json:"saved,omitempty"`
	// Changes are what the restore changes, or would change; where writing was interrupted, what was left of it.
	// +optional
	Changes *RestoreChanges `json:"changes,omitempty"`
	// WriteStartTime is when the first write may have been made. From then on the restore is finished before anything else is done.
	// +optional
	WriteStartTime *metav1.Time `json:"writeStartTime,omitempty"`
	// WrittenTime is when the state was complete.
	// +optional
	WrittenTime *metav1.Time `json:"writtenTime,omitempty"`
	// CompletionTime is when the restore ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// RestoreChanges are by what the cluster and the backup differ.
type RestoreChanges struct {
	// Added is how many objects are in the backup alone, Changed how many are in both and differ, and Removed how many are in the cluster alone.
	Added   int64 `json:"added"`
	Changed int64 `json:"changed"`
	Removed int64 `json:"removed"`
	// First are the first of them, as "+ KEY", "~ KEY" and "- KEY"; the key is that of the cluster's store, such as pods/default/web.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	First []string `json:"first,omitempty"`
}

// Shared returns the part of the status that all kinds have.
func (r *Restore) Shared() *Status { return &r.Status.Status }

// +kubebuilder:object:root=true

// RestoreList is a list of restores.
type RestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Restore `json:"items"`
}

// LabelRestore on a Backup is the UID of the Restore that made it, before it changed the cluster.
const LabelRestore = "kqueen.io/restore"
