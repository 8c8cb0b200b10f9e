package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a BackupStore, beside those of every kind.
const (
	// ConditionStoreUsable is true while its keys are there and its folder or bucket answers.
	ConditionStoreUsable = "StoreUsable"
)

// Reasons of the conditions of a BackupStore.
const (
	// ReasonStoreUsable: the keys are there, and the folder or bucket answers.
	ReasonStoreUsable = "StoreUsable"
	// ReasonStoreUnusable: the folder or bucket cannot be used, or the keys cannot; the message says why.
	ReasonStoreUnusable = "StoreUnusable"
	// ReasonStoreInUse: the BackupStore is being deleted and still has backups; the message says how many.
	ReasonStoreInUse = "StoreInUse"
)

// BackupStore is where backups are kept: a folder of KQueen's host, which should be a disk or a mount of its own, or a bucket of an S3
// server. Its keys are in a Secret that KQueen makes.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=bst,categories=kqueen
// +kubebuilder:printcolumn:name="Directory",type=string,JSONPath=`.spec.directory`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.spec.s3.bucket`
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
// +kubebuilder:validation:XValidation:rule="has(self.directory) != has(self.s3)",message="either directory or s3 says where backups are kept"
// +kubebuilder:validation:XValidation:rule="has(self.directory) == has(oldSelf.directory) && (!has(self.directory) || self.directory == oldSelf.directory)",message="directory cannot be changed, because its backups would be left behind; create another BackupStore"
// +kubebuilder:validation:XValidation:rule="has(self.recipients) == has(oldSelf.recipients) && (!has(self.recipients) || self.recipients == oldSelf.recipients)",message="recipients cannot be changed, because what is there is encrypted to them; create another BackupStore"
type BackupStoreSpec struct {
	// Directory is the absolute path of a folder of KQueen's host. It is made when it is not there.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[^\x00]+$`
	Directory string `json:"directory,omitempty"`
	// S3 is a bucket of an S3 server.
	// +optional
	S3 *BackupStoreS3 `json:"s3,omitempty"`
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

// BackupStoreS3 is a bucket of an S3 server. What KQueen proves itself with there is not part of the spec: it goes in by the API and does
// not come out.
//
// +kubebuilder:validation:XValidation:rule="self.bucket == oldSelf.bucket",message="bucket cannot be changed, because its backups would be left behind; create another BackupStore"
// +kubebuilder:validation:XValidation:rule="has(self.prefix) == has(oldSelf.prefix) && (!has(self.prefix) || self.prefix == oldSelf.prefix)",message="prefix cannot be changed, because its backups would be left behind; create another BackupStore"
// +kubebuilder:validation:XValidation:rule="self.endpoint.startsWith('https://') || (has(self.allowHTTP) && self.allowHTTP)",message="endpoint must begin with https://, or allowHTTP be true"
type BackupStoreS3 struct {
	// Endpoint is the URL of the server, without a path. The bucket is looked for in its path; at Amazon, Google and Alibaba in the name of
	// the host. Addresses of KQueen's host, of its machines and of a cloud's metadata are closed, unless kqueen up --backup-allow opens them.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:Pattern=`^https?://[^/?#@\s]+$`
	Endpoint string `json:"endpoint"`
	// AllowHTTP says that the endpoint may begin with http://: others read then which files there are. Their content is encrypted all the
	// same, and credentials are not sent.
	// +optional
	AllowHTTP bool `json:"allowHTTP,omitempty"`
	// Region is what requests are signed for.
	// +optional
	// +kubebuilder:default=us-east-1
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9-]+$`
	Region string `json:"region,omitempty"`
	// Bucket has to be there; KQueen makes none.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9.-]+[a-z0-9]$`
	Bucket string `json:"bucket"`
	// Prefix is before the names of all files, for a bucket that has something else as well. One store alone may have it.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	Prefix string `json:"prefix,omitempty"`
	// CABundle has the authorities that sign the server's certificate, in PEM: these and no others. Those that the system trusts when it is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=65536
	// +kubebuilder:validation:XValidation:rule="self == '' || self.contains('-----BEGIN CERTIFICATE-----')",message="must be certificates in PEM"
	CABundle string `json:"caBundle,omitempty"`
}

// What KQueen proves itself with to an S3 server, in the Secret that [BackupStore.CredentialsSecret] names.
const (
	SecretTypeBackupStoreCredentials corev1.SecretType = "kqueen.io/backupstore-credentials"

	BackupStoreAccessKeyID     = "accessKeyID"
	BackupStoreSecretAccessKey = "secretAccessKey"
	// BackupStoreSessionToken is absent for credentials that do not end.
	BackupStoreSessionToken = "sessionToken"
)

// BackupStoreStatus is what is known of a store of backups.
type BackupStoreStatus struct {
	Status `json:",inline"`
	// Recipient is the public key of age of the store's own key.
	// +optional
	Recipient string `json:"recipient,omitempty"`
}

// KeysSecret is the name of the Secret in kqueen-system that holds the store's keys.
func (s *BackupStore) KeysSecret() string { return "backupstore-" + string(s.UID) }

// CredentialsSecret is the name of the Secret in kqueen-system with what KQueen proves itself with to the S3 server of the store.
func (s *BackupStore) CredentialsSecret() string { return "backupstore-credentials-" + string(s.UID) }

// Place says where the store is, such as /mnt/nas or s3://vault/clusters.
func (s *BackupStore) Place() string {
	if s.Spec.S3 == nil {
		return s.Spec.Directory
	}
	place := "s3://" + s.Spec.S3.Bucket
	if s.Spec.S3.Prefix != "" {
		place += "/" + s.Spec.S3.Prefix
	}
	return place
}

// Shared returns the part of the status that all kinds have.
func (s *BackupStore) Shared() *Status { return &s.Status.Status }

// +kubebuilder:object:root=true

// BackupStoreList is a list of stores of backups.
type BackupStoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BackupStore `json:"items"`
}
