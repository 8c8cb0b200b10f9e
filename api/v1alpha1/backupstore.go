package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a BackupStore, beside those of every kind.
const (
	// ConditionStoreUsable is true while its keys are there and its folder can be written.
	ConditionStoreUsable = "StoreUsable"
)

// Reasons of the conditions of a BackupStore.
const (
	// ReasonStoreUsable: the keys are there, and the folder can be written.
	ReasonStoreUsable = "StoreUsable"
	// ReasonStoreUnusable: the folder cannot be written, or the keys cannot be used; the message says why.
	ReasonStoreUnusable = "StoreUnusable"
	// ReasonStoreInUse: the BackupStore is being deleted and still has backups; the message says how many.
	ReasonStoreInUse = "StoreInUse"
)

// BackupStore is where backups are kept: a folder of KQueen's host, which should be a disk or a mount of its own. Its keys are in
// a Secret that KQueen makes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=bst,categories=kqueen
// +kubebuilder:printcolumn:name="Directory",type=string,JSONPath=`.spec.directory`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type BackupStore struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec BackupStoreSpec `json:"spec"`
	// +optional
	Status BackupStoreStatus `json:"status,omitempty"`
}

// BackupStoreSpec is where backups are kept, and for whom.
//
// +kubebuilder:validation:XValidation:rule="self.directory == oldSelf.directory",message="directory cannot be changed, because its backups would be left behind; create another BackupStore"
// +kubebuilder:validation:XValidation:rule="has(self.recipients) == has(oldSelf.recipients) && (!has(self.recipients) || self.recipients == oldSelf.recipients)",message="recipients cannot be changed, because what is there is encrypted to them; create another BackupStore"
type BackupStoreSpec struct {
	// Directory is the absolute path of a folder of KQueen's host. It is made when it is not there.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\x00]+$`
	Directory string `json:"directory"`
	// OrganizationNames are those that may use it; all when the list is absent.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=256
	OrganizationNames []string `json:"organizationNames,omitempty"`
	// MaxBackups is how many backups an organization may have here.
	// +optional
	// +kubebuilder:default=200
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxBackups int32 `json:"maxBackups,omitempty"`
	// Recipients are further public keys of age (https://age-encryption.org), "age1…", whose owners can decrypt the backups without KQueen.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:Pattern=`^age1[0-9a-z]+$`
	Recipients []string `json:"recipients,omitempty"`
}

// BackupStoreStatus is what is known of a store of backups.
type BackupStoreStatus struct {
	Status `json:",inline"`
	// Recipient is the public key of age of the store's own key.
	// +optional
	Recipient string `json:"recipient,omitempty"`
}

// KeysSecret is the name of the Secret in kqueen-system that holds the store's keys.
func (s *BackupStore) KeysSecret() string { return "backupstore-" + string(s.UID) }

// Shared returns the part of the status that all kinds have.
func (s *BackupStore) Shared() *Status { return &s.Status.Status }

// +kubebuilder:object:root=true

// BackupStoreList is a list of stores of backups.
type BackupStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackupStore `json:"items"`
}
