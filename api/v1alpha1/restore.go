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
	// ReasonRestoreCreating: the new cluster is being created, or removed when the restore is deleted before it has ended.
	ReasonRestoreCreating = "RestoreCreating"
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
// before is kept in a backup of its own, so that a restore can be undone by another one. Or it creates a new cluster of the backup, under
// another name. A Restore that has ended does nothing more.
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
// +kubebuilder:validation:XValidation:rule="!has(self.newClusterName) || !has(self.include) || self.include.size() == 0",message="include cannot be set together with newClusterName: a new cluster gets all of the backup; leave one of them out"
// +kubebuilder:validation:XValidation:rule="has(self.newClusterName) || !has(self.newClusterVersion)",message="newClusterVersion is for a new cluster; set newClusterName, too, or leave it out"
type RestoreSpec struct {
	// BackupName names the Backup, in the same namespace. The cluster is the one that it was taken of, unless there is a newClusterName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	BackupName string `json:"backupName"`
	// NewClusterName has the backup restored as a new Cluster of that name, in the same namespace, with keys, certificates, an endpoint and an
	// issuer of tokens of its own. The cluster that the backup was taken of may be gone; where it is there, nothing of it is touched.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	NewClusterName string `json:"newClusterName,omitempty"`
	// NewClusterVersion is the version of Kubernetes of the new cluster, of the same minor as that of the backup or one minor newer; that of the
	// backup where it is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	NewClusterVersion string `json:"newClusterVersion,omitempty"`
	// CompareOnly asks what a restore would change, or whether a new cluster could be created and what it would get, and changes nothing. The
	// control plane goes on.
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
	// ClusterName is the name of the cluster that is restored: the new one, where one is created.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`
	// NewClusterUID is the UID of the Cluster that the restore has created.
	// +optional
	NewClusterUID string `json:"newClusterUID,omitempty"`
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
	// Of a new cluster Added is how many it gets as they are in the backup, Changed how many it gets without what they say of the cluster that the
	// backup was taken of, and Removed how many it does not get; First are of those two.
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

// LabelRestore on a Backup is the UID of the Restore that made it, before it changed the cluster; on a Cluster it is that of the Restore that
// created it, for which the control plane stands still until all is written.
const LabelRestore = "kqueen.io/restore"
