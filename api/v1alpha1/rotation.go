package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a Rotation, beside those of every kind, in the order in which they come true.
const (
	// ConditionNewTrusted is true once the control plane trusts the new credential beside the old one.
	ConditionNewTrusted = "NewTrusted"
	// ConditionNewSigns is true once the cluster signs with the new credential, and its nodes follow.
	ConditionNewSigns = "NewSigns"
	// ConditionNewServes is true once spec.finish is true, and the API server shows a certificate of the new authority.
	ConditionNewServes = "NewServes"
	// ConditionOldRemoved is true once nothing trusts the old credential any more, and its private key is gone.
	ConditionOldRemoved = "OldRemoved"
)

// Reasons of a Rotation's conditions.
const (
	// ReasonRotationRefused: the rotation cannot be done as it is asked for; the message names the field.
	ReasonRotationRefused = "RotationRefused"
	// ReasonRotationWaiting: something else goes first, such as another rotation, an upgrade or a restore of the cluster; the message names it.
	ReasonRotationWaiting = "RotationWaiting"
	// ReasonRotatingControlPlane: the components of the control plane take the step.
	ReasonRotatingControlPlane = "RotatingControlPlane"
	// ReasonRotatingNodes: nodes get certificates of the authority of their cluster, or come to trust it; the message names them.
	ReasonRotatingNodes = "RotatingNodes"
	// ReasonRotatingSecrets: Secrets are written again, to be encrypted with the new key; the message says how many are to be.
	ReasonRotatingSecrets = "RotatingSecrets"
	// ReasonRotationAwaitsFinish: old and new credential are accepted, until spec.finish is true.
	ReasonRotationAwaitsFinish = "RotationAwaitsFinish"
	// ReasonRotationFailed: a call failed; the message has its cause.
	ReasonRotationFailed = "RotationFailed"
	// ReasonRotationStepDone: this part of the rotation is done.
	ReasonRotationStepDone = "RotationStepDone"
)

// Rotation replaces one credential of a cluster whose control plane KQueen hosts. The new one is trusted beside the old one, then signs;
// when spec.finish is true the old one is taken out. One that has ended does nothing more.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=rot,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Credential",type=string,JSONPath=`.spec.credential`
// +kubebuilder:printcolumn:name="Step",type=string,JSONPath=`.status.step`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Completed",type=date,JSONPath=`.status.completionTime`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must have at most 63 characters"
type Rotation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec RotationSpec `json:"spec"`
	// +optional
	Status RotationStatus `json:"status,omitempty"`
}

// RotationSpec says which credential of which cluster is replaced.
//
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName && self.credential == oldSelf.credential",message="clusterName and credential cannot be changed; create another rotation"
// +kubebuilder:validation:XValidation:rule="!(has(oldSelf.finish) && oldSelf.finish) || (has(self.finish) && self.finish)",message="finish cannot be taken back"
type RotationSpec struct {
	// ClusterName names the Cluster, in the same namespace. KQueen hosts its control plane.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// Credential that is replaced: CertificateAuthority, which signs the certificates of users, nodes and the API server,
	// ServiceAccountKey, which signs the tokens of service accounts, or EncryptionKey, by which Secrets are encrypted where they are stored.
	Credential RotatedCredential `json:"credential"`
	// Finish takes the old credential out: what depends on it, such as kubeconfigs from before, is refused from then on.
	// +optional
	Finish bool `json:"finish,omitempty"`
}

// RotationStatus is what is known of a rotation.
type RotationStatus struct {
	Status `json:",inline"`
	// ClusterUID is the UID of the Cluster.
	// +optional
	ClusterUID string `json:"clusterUID,omitempty"`
	// Step that the control plane takes, or took last.
	// +optional
	Step RotationStep `json:"step,omitempty"`
	// OldFingerprint and NewFingerprint tell the old and the new credential: "sha256:" and the hash of the public key.
	// +optional
	OldFingerprint string `json:"oldFingerprint,omitempty"`
	// +optional
	NewFingerprint string `json:"newFingerprint,omitempty"`
	// PendingMachines are those that do not follow yet: they do not trust the authority of their cluster, or have no certificate of it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	PendingMachines []string `json:"pendingMachines,omitempty"`
	// SignsTime is when the new credential signed and all nodes followed. Pods and kubeconfigs from before may know the old one alone.
	// +optional
	SignsTime *metav1.Time `json:"signsTime,omitempty"`
	// OlderPods is how many pods with a token of a service account began before that. What runs in them may trust the old authority alone.
	// +optional
	OlderPods int32 `json:"olderPods,omitempty"`
	// OlderPodNames are some of them, as "namespace/name".
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=20
	OlderPodNames []string `json:"olderPodNames,omitempty"`
	// PendingSecrets is how many Secrets are encrypted with the old key, or not at all, as far as was seen last.
	// +optional
	PendingSecrets int32 `json:"pendingSecrets,omitempty"`
	// OlderBackups is how many backups of the cluster were taken before all Secrets were encrypted with the new key. They cannot be restored
	// any more once the old key is gone.
	// +optional
	OlderBackups int32 `json:"olderBackups,omitempty"`
	// CompletionTime is when the rotation ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`
}

// Shared returns the part of the status that all kinds have.
func (r *Rotation) Shared() *Status { return &r.Status.Status }

// +kubebuilder:object:root=true

// RotationList is a list of rotations.
type RotationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Rotation `json:"items"`
}
