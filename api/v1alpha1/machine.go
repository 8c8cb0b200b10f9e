package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a Machine, beside those of every kind, in the order in which they come true.
const (
	// ConditionBootstrapped is true when the machine has, or no longer needs, what it takes to join.
	ConditionBootstrapped = "Bootstrapped"
	// ConditionMachineReady is true while the provider reports the machine as created and running.
	ConditionMachineReady = "MachineReady"
	// ConditionNodeReady is true while the machine's node is ready in the cluster.
	ConditionNodeReady = "NodeReady"
	// ConditionDrained is false while pods are leaving the node before the machine is removed.
	ConditionDrained = "Drained"
)

// Reasons of a Machine's conditions.
const (
	// ReasonBootstrapped: what it takes to join is there.
	ReasonBootstrapped = "Bootstrapped"
	// ReasonJoined: the node is in the cluster; nothing to join with is kept.
	ReasonJoined = "Joined"
	// ReasonBootstrapPending: what it takes to join cannot be created yet.
	ReasonBootstrapPending = "BootstrapPending"
	// ReasonMachineStopping: its cluster is to sleep, and the machine still runs.
	ReasonMachineStopping = "MachineStopping"
	// ReasonMachineRunning: the provider reports the machine as created and running.
	ReasonMachineRunning = "MachineRunning"
	// ReasonMachineCreating: the machine is being created; the message names what is waited for.
	ReasonMachineCreating = "MachineCreating"
	// ReasonMachineFailed: the provider cannot create the machine or keep it running.
	ReasonMachineFailed = "MachineFailed"
	// ReasonMachineRemaining: something of the machine is still there.
	ReasonMachineRemaining = "MachineRemaining"
	// ReasonAwaitingJoin: the user has to run the join command on the machine.
	ReasonAwaitingJoin = "AwaitingJoin"
	// ReasonNodeReady: the node is ready.
	ReasonNodeReady = "NodeReady"
	// ReasonNodeMissing: there is no node of this name in the cluster yet, or any more.
	ReasonNodeMissing = "NodeMissing"
	// ReasonNodeNotReady: the node is not ready; the message has the node's own words.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonClusterUnreachable: the cluster's API server does not answer, so KQueen cannot tell how the node is.
	ReasonClusterUnreachable = "ClusterUnreachable"
	// ReasonNodeRefused: the cluster refuses what KQueen wants to set on the node.
	ReasonNodeRefused = "NodeRefused"
	// ReasonNodeForeign: the node of this name belongs to something else.
	ReasonNodeForeign = "NodeForeign"
	// ReasonDraining: pods are leaving the node; the message names what keeps them.
	ReasonDraining = "Draining"
	// ReasonDrainTimedOut: spec.drain.timeoutSeconds have passed; the message names what goes with the machine.
	ReasonDrainTimedOut = "DrainTimedOut"
	// ReasonDrained: no pod that can leave is on the node.
	ReasonDrained = "Drained"
)

// Machine is one worker of a cluster, and the node that it becomes. Pools create machines; deleting one
// by hand drains and removes exactly it, and its pool creates another.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ma,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Pool",type=string,JSONPath=`.metadata.labels.kqueen\.io/nodepool`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`,priority=1
// +kubebuilder:printcolumn:name="Isolation",type=string,JSONPath=`.status.isolation`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label: lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit; the node gets this name"
type Machine struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec MachineSpec `json:"spec"`
	// +optional
	Status MachineStatus `json:"status,omitempty"`
}

// MachineSpec is the desired state of a machine.
//
// +kubebuilder:validation:XValidation:rule="has(self.resources) == has(oldSelf.resources) && (!has(self.resources) || self.resources == oldSelf.resources)",message="resources cannot be changed; a machine is replaced instead"
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName && self.version == oldSelf.version && self.provider == oldSelf.provider",message="clusterName, version and provider cannot be changed; a machine is replaced instead"
type MachineSpec struct {
	// ClusterName names the Cluster, in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// Version of Kubernetes on the machine.
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version"`
	// Provider creates the machine: local or manual.
	// +kubebuilder:validation:Enum=local;manual
	Provider string `json:"provider"`
	// Parameters are settings that only the provider knows.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
	// Resources are what the machine has; what is absent is not bounded. They cannot be changed.
	// +optional
	Resources *MachineResources `json:"resources,omitempty"`
	// VolumeCapacity is how many bytes the volumes of class local on the disk of the machine may have together, such as "50Gi"; when
	// it is absent, as many as their file system has. A change is applied to the node.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('1Pi')) <= 0",message="must be from 0 to 1Pi"
	VolumeCapacity *resource.Quantity `json:"volumeCapacity,omitempty"`
	// Labels of the node.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// Taints of the node.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect must be NoSchedule, PreferNoSchedule or NoExecute"
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Drain says how pods leave the node before the machine is removed.
	// +optional
	// +kubebuilder:default={}
	Drain DrainPolicy `json:"drain,omitempty"`
}

// MachineIsolation is how far a machine is kept apart from the host that it shares with others. Each has processes, a network
// and a file system of its own.
// +kubebuilder:validation:Enum=UserNamespace;OwnRoot
type MachineIsolation string

const (
	// MachineUserNamespace is a machine whose root is a user of the host without rights.
	MachineUserNamespace MachineIsolation = "UserNamespace"
	// MachineOwnRoot is a machine whose root is that of the host: a pod that may be privileged is not kept in.
	MachineOwnRoot MachineIsolation = "OwnRoot"
)

// MachineStatus is what is known of a machine. What a node says of itself all the time is not here:
// ask the cluster.
type MachineStatus struct {
	Status `json:",inline"`
	// ProviderID names the machine for good; it is the node's spec.providerID.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// Address of the machine, at which the API server reaches its kubelet.
	// +optional
	Address string `json:"address,omitempty"`
	// Isolation is how far the machine is kept apart from the host that it shares; absent for one that has its own.
	// +optional
	Isolation MachineIsolation `json:"isolation,omitempty"`
	// IsolationMessage says why it is not kept apart further.
	// +optional
	IsolationMessage string `json:"isolationMessage,omitempty"`
	// TrustHash tells which authorities of its cluster the machine trusts: "sha256:" and the hash of their certificates. While the authority
	// of the cluster is rotated, it says how far the machine is.
	// +optional
	TrustHash string `json:"trustHash,omitempty"`
	// PodCIDR is the range of the node's pods.
	// +optional
	PodCIDR string `json:"podCIDR,omitempty"`
	// Version of Kubernetes that the node reports.
	// +optional
	Version string `json:"version,omitempty"`
	// Unschedulable says that the node takes no new pods, because a user has cordoned or drained it.
	// +optional
	Unschedulable bool `json:"unschedulable,omitempty"`
	// LifeTransitionTime is when the machine began to run, or, while it does not, when it ended. What its node said before is of an
	// earlier life. Absent where it is not known.
	// +optional
	LifeTransitionTime *metav1.Time `json:"lifeTransitionTime,omitempty"`
	// JoinTime is when the node was first seen ready.
	// +optional
	JoinTime *metav1.Time `json:"joinTime,omitempty"`
	// DrainStartTime is when pods were first asked to leave.
	// +optional
	DrainStartTime *metav1.Time `json:"drainStartTime,omitempty"`
}

// +kubebuilder:object:root=true

// MachineList is a list of machines.
type MachineList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Machine `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (m *Machine) Shared() *Status { return &m.Status.Status }

// Sleeps says whether the machine was stopped because its cluster sleeps, or, where a user joined it, runs on without its cluster.
func (m *Machine) Sleeps() bool {
	return slices.ContainsFunc(m.Status.Conditions, func(c metav1.Condition) bool { return c.Type == ConditionMachineReady && c.Reason == ReasonAsleep })
}

// JoinSecret is the name of the Secret with what the machine joins with, in the machine's namespace.
func (m *Machine) JoinSecret() string { return "join-" + string(m.UID) }
