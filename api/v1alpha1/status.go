package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SystemNamespace holds what belongs to the installation and not to one
// organization: shared provisioners and the credentials of data stores.
const SystemNamespace = "kqueen-system"

// Conditions that every kind has. They follow the rules of kstatus, so that
// kubectl wait, Helm and Flux read them right.
const (
	// ConditionReady is true when the object is as its spec wants it.
	ConditionReady = "Ready"
	// ConditionReconciling is true while work towards the spec goes on.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is true when only a user or a new spec helps.
	ConditionStalled = "Stalled"
)

// Reasons that every kind uses.
const (
	// ReasonReady: everything is as the spec wants it.
	ReasonReady = "Ready"
	// ReasonProgressing: work goes on; the message names the step.
	ReasonProgressing = "Progressing"
	// ReasonRetrying: a step failed; the message has its cause, status.nextRetryTime the time of the next retry.
	ReasonRetrying = "Retrying"
	// ReasonDeleting: the object is being deleted; the message names what is still there.
	ReasonDeleting = "Deleting"
	// ReasonIdle: nothing is under way.
	ReasonIdle = "Idle"
)

// Status is the part of a status that all kinds share.
type Status struct {
	// ObservedGeneration is the metadata.generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Conditions say how far the object is and, when it is stuck, why.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// NextRetryTime is when a step that failed is tried again. It is absent when nothing is to be tried again.
	// +optional
	NextRetryTime *metav1.Time `json:"nextRetryTime,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// Namespace of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}
