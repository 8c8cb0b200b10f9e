package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a ControlPlane, beside those of every kind, in the order in which they come true.
const (
	// ConditionKeysReady is true when all keys and certificates are there and none is due for renewal.
	ConditionKeysReady = "KeysReady"
	// ConditionStoreReady is true when the control plane's keyspace is in the data store.
	ConditionStoreReady = "StoreReady"
	// ConditionEndpointReady is true when the API server has its port and its name at the gateway.
	ConditionEndpointReady = "EndpointReady"
	// ConditionComponentsReady is true while all components run and answer their probes.
	ConditionComponentsReady = "ComponentsReady"
	// ConditionAccessReady is true when the groups of KQueen's credentials have their rights in the cluster, or when
	// this installation issues no credentials.
	ConditionAccessReady = "AccessReady"
	// ConditionInitialized is true once the controllers have begun their work: the first
	// ServiceAccount is there. It does not become false again.
	ConditionInitialized = "Initialized"
	// ConditionStoreQuotaExceeded is true while the organization's control planes hold more in data stores than its
	// quota. The control plane goes on as before.
	ConditionStoreQuotaExceeded = "StoreQuotaExceeded"
	// ConditionStoreUnmeasured is true while it has not been known for an hour what the control plane holds in its data store, and its
	// organization has a quota of that: it gets no further cluster. The control plane goes on as before.
	ConditionStoreUnmeasured = "StoreUnmeasured"
	// ConditionAuthorityExpiring is true from half a year before an authority of the control plane expires, with which all that it has signed
	// ends. The control plane goes on as before until then.
	ConditionAuthorityExpiring = "AuthorityExpiring"
)

// Reasons of a ControlPlane's conditions.
const (
	// ReasonKeysIssued: all keys and certificates are there.
	ReasonKeysIssued = "KeysIssued"
	// ReasonKeysUnusable: an authority's key or certificate cannot be used; it is never replaced silently, because every node and user trusts it.
	ReasonKeysUnusable = "KeysUnusable"
	// ReasonKeysMissing: a key that the control plane was made with is gone; the message names it, and nothing takes its place.
	ReasonKeysMissing = "KeysMissing"
	// ReasonKeysForeign: the Secret has another key than the one that the control plane was made with; the message names it, and it is not used.
	ReasonKeysForeign = "KeysForeign"
	// ReasonKeyspaceReady: user, role and prefix are in the data store.
	ReasonKeyspaceReady = "KeyspaceReady"
	// ReasonDataStoreNotFound: there is no DataStore of that name.
	ReasonDataStoreNotFound = "DataStoreNotFound"
	// ReasonDataStoreUnavailable: the data store does not answer or refuses.
	ReasonDataStoreUnavailable = "DataStoreUnavailable"
	// ReasonKeyspaceRemaining: keys, user or role are still in the data store.
	ReasonKeyspaceRemaining = "KeyspaceRemaining"
	// ReasonComponentsServing: all components run and answer their probes.
	ReasonComponentsServing = "ComponentsServing"
	// ReasonComponentsStarting: components are being started; the message names them.
	ReasonComponentsStarting = "ComponentsStarting"
	// ReasonComponentsFailing: a component ended or does not answer; the message has its last words.
	ReasonComponentsFailing = "ComponentsFailing"
	// ReasonComponentsStopped: the components stand still for what spec.stoppedFor names, such as a Restore.
	ReasonComponentsStopped = "ComponentsStopped"
	// ReasonAsleep: nothing runs, as spec.hibernation of the cluster says; what wakes it is in the message.
	ReasonAsleep = "Asleep"
	// ReasonComponentsRemaining: processes or files of the components are still there.
	ReasonComponentsRemaining = "ComponentsRemaining"
	// ReasonInitialized: the controllers have begun their work.
	ReasonInitialized = "Initialized"
	// ReasonInitializing: the controllers have not created the first ServiceAccount yet.
	ReasonInitializing = "Initializing"
	// ReasonAccessInstalled: the groups of KQueen's credentials have their rights in the cluster.
	ReasonAccessInstalled = "AccessInstalled"
	// ReasonAccessUnchecked: the rights were installed, and the last look at them did not succeed; the message says why.
	ReasonAccessUnchecked = "AccessUnchecked"
	// ReasonAccessMissing: the rights are not installed, or not as they should be, and could not be put right; the message has the cluster's answer.
	ReasonAccessMissing = "AccessMissing"
	// ReasonAccessNotOffered: this installation issues no credentials for clusters.
	ReasonAccessNotOffered = "AccessNotOffered"
	// ReasonVersionRefused: the version is unknown, its programs are not there, or the step to it is not allowed.
	ReasonVersionRefused = "VersionRefused"
	// ReasonStoreQuotaExceeded: the organization's control planes hold more than its quota; the message has both.
	ReasonStoreQuotaExceeded = "StoreQuotaExceeded"
	// ReasonStoreWithinQuota: the organization's control planes hold no more than its quota.
	ReasonStoreWithinQuota = "StoreWithinQuota"
	// ReasonStoreUnmeasured: for an hour it could not be measured what the control plane holds, so that the organization,
	// which has a quota of it, gets no further cluster.
	ReasonStoreUnmeasured = "StoreUnmeasured"
	// ReasonStoreMeasured: it is known again what the control plane holds in its data store.
	ReasonStoreMeasured = "StoreMeasured"
	// ReasonAuthorityExpires: an authority of the control plane expires within half a year; the message has its name, the day and what to do.
	ReasonAuthorityExpires = "AuthorityExpires"
	// ReasonAuthorityReplaced: no authority of the control plane expires within half a year any more.
	ReasonAuthorityReplaced = "AuthorityReplaced"
	// ReasonEndpointServing: the API server has its port and its name.
	ReasonEndpointServing = "EndpointServing"
	// ReasonEndpointPending: the port or the name could not be given yet.
	ReasonEndpointPending = "EndpointPending"
)

// ControlPlane is a Kubernetes control plane that KQueen itself hosts: API server,
// controller manager and scheduler over a keyspace of their own in a shared data store.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=cp,categories=kqueen
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Port",type=integer,JSONPath=`.status.endpoint.port`
// +kubebuilder:printcolumn:name="Store",type=string,JSONPath=`.spec.dataStoreName`,priority=1
// +kubebuilder:printcolumn:name="Host",type=string,JSONPath=`.status.endpoint.serverName`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters: lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit"
type ControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ControlPlaneSpec `json:"spec"`
	// +optional
	Status ControlPlaneStatus `json:"status,omitempty"`
}

// ControlPlaneSpec is the desired state of a control plane.
type ControlPlaneSpec struct {
	// Version of Kubernetes, such as "v1.36.3": a Release of that name must be ready.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version"`
	// EmulatedVersion is the minor that the components serve and behave as, such as "v1.35": that of version, which it is when it is absent,
	// or the one before. version can be lowered to a minor that status.emulatedVersion says is emulated.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+$`
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// DataStoreName names the DataStore that holds the keyspace. It cannot be changed yet.
	// +optional
	// +kubebuilder:default=default
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="dataStoreName cannot be changed"
	DataStoreName string `json:"dataStoreName,omitempty"`
	// Network is the cluster's addressing.
	// +optional
	// +kubebuilder:default={}
	Network Network `json:"network,omitempty"`
	// Size is how much memory and which share of the processors the components may take, and how many requests at a time and
	// events in a second the API server takes. A change restarts the components.
	// +optional
	// +kubebuilder:default=medium
	Size ControlPlaneSize `json:"size,omitempty"`
	// PodSecurity is the level of the Pod Security Standards that the API server holds pods to, in all namespaces but
	// kube-system. A control plane without it bounds nothing, as privileged does.
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	PodSecurity string `json:"podSecurity,omitempty"`
	// AuditLog is what the API server writes down of what its callers do: Metadata, RequestResponse (with the bodies of changes) or None.
	// +optional
	// +kubebuilder:default=Metadata
	// +kubebuilder:validation:Enum=None;Metadata;RequestResponse
	AuditLog string `json:"auditLog,omitempty"`
	// StoppedFor is the UID of what the components stand still for, such as a Restore; the keyspace, the keys and the ports stay. They
	// run when it is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	StoppedFor string `json:"stoppedFor,omitempty"`
	// ReadOnly leaves the API server running while the other components stand still for what stoppedFor names. It answers reads and watches,
	// and the data store refuses its writes. An API server that does not run, or not in spec.version, stands still as the others do.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
	// Asleep has the components end; the keyspace, the keys and the ports stay. The gateway holds connections of clients until they run again.
	// +optional
	Asleep bool `json:"asleep,omitempty"`
	// CopyOf is the UID of the ControlPlane, in the same namespace, of whose keyspace this one holds a copy: a Rehearsal tries there what it
	// does not do to that one. Only an API server runs, which reads what that one has encrypted, with other certificates and token keys. It
	// calls no webhook, node or pod, no gateway has its name, and no quota counts it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="copyOf cannot be changed"
	CopyOf string `json:"copyOf,omitempty"`
	// Rotation is how far a Rotation is that replaces a credential of the control plane; absent while none goes on.
	// +optional
	Rotation *CredentialRotation `json:"rotation,omitempty"`
}

// IsReadOnly says whether the API server reads on while the other components stand still.
func (s *ControlPlaneSpec) IsReadOnly() bool { return s.StoppedFor != "" && s.ReadOnly }

// RotationStep is the step of the rotation of a credential, or empty where that one is not being rotated.
func (s *ControlPlaneSpec) RotationStep(of RotatedCredential) RotationStep {
	return s.Rotation.stepOf(of)
}

// Emulates is the older minor that the components are to behave as, such as "v1.35"; empty for their own.
func (s *ControlPlaneSpec) Emulates() string {
	if strings.HasPrefix(s.Version, s.EmulatedVersion+".") {
		return ""
	}
	return s.EmulatedVersion
}

// IsCopy says whether a control plane is there to try something in a copy of another one's keyspace.
func (c *ControlPlane) IsCopy() bool { return c.Spec.CopyOf != "" }

// ControlPlaneSize is a size of control planes.
//
// +kubebuilder:validation:Enum=small;medium;large
type ControlPlaneSize string

// Sizes of control planes.
const (
	ControlPlaneSmall  ControlPlaneSize = "small"
	ControlPlaneMedium ControlPlaneSize = "medium"
	ControlPlaneLarge  ControlPlaneSize = "large"
)

// ControlPlaneStatus is what is known of a control plane.
type ControlPlaneStatus struct {
	Status `json:",inline"`
	// Version of Kubernetes that the components run.
	// +optional
	Version string `json:"version,omitempty"`
	// Endpoint is where the API server is.
	// +optional
	Endpoint *ControlPlaneEndpoint `json:"endpoint,omitempty"`
	// APIServerVersion is that of the API server. While the control plane is upgraded it is ahead of version: the other components follow
	// when that API server is ready.
	// +optional
	APIServerVersion string `json:"apiServerVersion,omitempty"`
	// EmulatedVersion is the minor that the API server emulates, such as "v1.35"; absent while it is that of its own version.
	// +optional
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// Components are the programs of the control plane. Their use of memory and processor is not
	// here, because it changes all the time: see `kqueen status`.
	// +optional
	// +listType=map
	// +listMapKey=name
	Components []ComponentStatus `json:"components,omitempty"`
	// StoppedFor is spec.stoppedFor once no component runs any more that may write.
	// +optional
	StoppedFor string `json:"stoppedFor,omitempty"`
	// Asleep is true from when no component runs, for spec.asleep, until the API server serves again. The gateway has its port meanwhile.
	// +optional
	Asleep bool `json:"asleep,omitempty"`
	// Confinement says what keeps the components from the host and from other control planes: "complete" for a user, a view
	// of files, no capabilities, a filter of system calls and limits of their own, or what of that is missing and why.
	// +optional
	Confinement string `json:"confinement,omitempty"`
	// StoreUsed is how many bytes of keys and values the control plane holds in its data store, without old revisions.
	// It is as it was when they were last counted, and follows changes of a twentieth, but at least 64Ki.
	// +optional
	StoreUsed *resource.Quantity `json:"storeUsed,omitempty"`
	// RenewalTime is when the first certificate is due for renewal.
	// +optional
	RenewalTime *metav1.Time `json:"renewalTime,omitempty"`
	// AuthorityExpirationTime is when the first of the control plane's authorities expires.
	// +optional
	AuthorityExpirationTime *metav1.Time `json:"authorityExpirationTime,omitempty"`
	// Trust are the keys that everything in the control plane hangs on: its authorities, and what signs its tokens and
	// encrypts its Secrets. They are made once, and replaced by a Rotation alone; one that is lost or changed otherwise stalls the control plane and is not made again.
	// +optional
	// +listType=map
	// +listMapKey=name
	Trust []TrustRoot `json:"trust,omitempty"`
	// Rotation is spec.rotation once all components have taken its step.
	// +optional
	Rotation *CredentialRotation `json:"rotation,omitempty"`
}

// RotationStep is the step of the rotation of a credential that all components have taken, or empty.
func (s *ControlPlaneStatus) RotationStep(of RotatedCredential) RotationStep {
	return s.Rotation.stepOf(of)
}

// StoreBytes is StoreUsed as a number; 0 where it is not known.
func (s *ControlPlaneStatus) StoreBytes() int64 {
	if s.StoreUsed == nil {
		return 0
	}
	return s.StoreUsed.Value()
}

// TrustRoot tells a key from all others, and nothing else of it.
type TrustRoot struct {
	// Name of the key: that of its file in the Secret without the ending, such as "ca".
	Name string `json:"name"`
	// Fingerprint is "sha256:" and the hash, of the public half where there is one.
	Fingerprint string `json:"fingerprint"`
}

// ControlPlaneEndpoint is where an API server is.
type ControlPlaneEndpoint struct {
	// ServerName is the name to send in the TLS handshake with the gateway.
	ServerName string `json:"serverName"`
	// Gateway is host:port of the gateway that all control planes share.
	Gateway string `json:"gateway"`
	// Address at which the API server itself is reached.
	Address string `json:"address"`
	// NodeAddress is the address at which nodes and pods reach the API server, on the same port. On a host that
	// listens only to itself it is one that the machines carry to it.
	// +optional
	NodeAddress string `json:"nodeAddress,omitempty"`
	// Port on which the API server itself listens, for nodes and clients that cannot send the server name.
	Port int32 `json:"port"`
}

// ComponentStatus is what is known of one program of a control plane.
type ComponentStatus struct {
	// Name of the program, such as "kube-apiserver".
	Name string `json:"name"`
	// State is one of Waiting, Starting, Ready, NotReady, Backoff, Stopping.
	State string `json:"state"`
	// Restarts counts the ends that were not asked for since KQueen found or started the program.
	// +optional
	Restarts int32 `json:"restarts,omitempty"`
	// LastExit says how the program last ended.
	// +optional
	LastExit string `json:"lastExit,omitempty"`
}

// +kubebuilder:object:root=true

// ControlPlaneList is a list of control planes.
type ControlPlaneList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ControlPlane `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (c *ControlPlane) Shared() *Status { return &c.Status.Status }

// KeysSecret is the name of the Secret, in the control plane's namespace, that holds its keys
// and certificates under their file names.
func (c *ControlPlane) KeysSecret() string { return "controlplane-" + string(c.UID) }
