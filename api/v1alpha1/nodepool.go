package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Conditions of a NodePool, beside those of every kind, in the order in which they are decided.
const (
	// ConditionClusterReady is true when the cluster can take nodes: its API server is healthy, and what every node
	// needs (network, proxy, name service) is in it.
	ConditionClusterReady = "ClusterReady"
	// ConditionHealthy is false when machines are unhealthy and are not replaced, because too many are
	// at once; the message names them.
	ConditionHealthy = "Healthy"
	// ConditionScaled is true when there are as many machines as wanted, all of them ready.
	ConditionScaled = "Scaled"
	// ConditionUpdated is true when all machines have the present template and version.
	ConditionUpdated = "Updated"
)

// Reasons of a NodePool's conditions.
const (
	// ReasonClusterReady: the cluster can take nodes.
	ReasonClusterReady = "ClusterReady"
	// ReasonClusterNotFound: no Cluster of that name is in the namespace.
	ReasonClusterNotFound = "ClusterNotFound"
	// ReasonClusterNotReady: the cluster's API server is not healthy yet, or not now.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonAllHealthy: no machine is unhealthy.
	ReasonAllHealthy = "AllHealthy"
	// ReasonReplacing: unhealthy machines are being replaced; the message names them.
	ReasonReplacing = "Replacing"
	// ReasonTooManyUnhealthy: more machines are unhealthy than spec.health.maxUnhealthy allows, so none is
	// replaced: the cause is probably not the machines.
	ReasonTooManyUnhealthy = "TooManyUnhealthy"
	// ReasonNotReplaced: machines are unhealthy and are not replaced, because the user has to join others, or
	// because none could be created.
	ReasonNotReplaced = "NotReplaced"
	// ReasonScaled: there are as many ready machines as wanted.
	ReasonScaled = "Scaled"
	// ReasonScaling: machines are being created or removed; the message says how many.
	ReasonScaling = "Scaling"
	// ReasonUpdated: all machines have the present template and version.
	ReasonUpdated = "Updated"
	// ReasonUpdating: machines are being replaced by ones of the present template and version.
	ReasonUpdating = "Updating"
)

// Reasons of a NodePool's events, beside those of its conditions.
const (
	// ReasonScaledUp: the pool was made larger for pods that wait.
	ReasonScaledUp = "ScaledUp"
	// ReasonScaledDown: the pool is made smaller by a machine that is not needed.
	ReasonScaledDown = "ScaledDown"
	// ReasonPodsPending: pods wait for which no pool is made larger.
	ReasonPodsPending = "PodsPending"
	// ReasonAutoscalingPaused: the cluster could not be asked what it needs, so nothing is changed.
	ReasonAutoscalingPaused = "AutoscalingPaused"
)

// Names of machine providers.
const (
	// ProviderLocal creates machines on the host of KQueen.
	ProviderLocal = "local"
	// ProviderManual takes machines that the user has and joins with a command.
	ProviderManual = "manual"
)

// Labels and annotations on Machines and Nodes.
const (
	// LabelCluster on a Machine names its Cluster.
	LabelCluster = "kqueen.io/cluster"
	// LabelNodePool on a Machine and on its Node names the NodePool.
	LabelNodePool = "kqueen.io/nodepool"
	// LabelProvider on a Node names the machine provider.
	LabelProvider = "kqueen.io/machine-provider"
	// LabelVolumeCapacity on a Node is spec.volumeCapacity of its Machine, for the addon local-volumes.
	LabelVolumeCapacity = "kqueen.io/volume-capacity"
	// LabelAddonImages is on a Node that has imported the images of addons, which come after it is ready: pods of these images are
	// scheduled there alone. Its value is AddonImagesImported.
	LabelAddonImages = "kqueen.io/addon-images"
	// AddonImagesImported is the value of LabelAddonImages.
	AddonImagesImported = "imported"
	// LabelProxy on a Node says what runs kube-proxy there: with the value ProxyMachine no pod has to.
	LabelProxy = "kqueen.io/kube-proxy"
	// ProxyMachine is kube-proxy as a program of the machine, beside the kubelet.
	ProxyMachine = "machine"
	// AnnotationCNI on a managed cluster's ConfigMap kubeadm-config is spec.cni of the Cluster, in small letters: who joins a
	// machine, maybe with another version of kqueen, learns whether a network comes to it.
	AnnotationCNI = "kqueen.io/cni"
	// AnnotationDeleteFirst on a Machine asks that scaling down takes it before others.
	AnnotationDeleteFirst = "kqueen.io/delete-first"
)

// NodePool is a set of like workers of one cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=np,categories=kqueen
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterName`
// +kubebuilder:printcolumn:name="Desired",type=integer,JSONPath=`.spec.replicas`
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=`.spec.minReplicas`,priority=1
// +kubebuilder:printcolumn:name="Max",type=integer,JSONPath=`.spec.maxReplicas`,priority=1
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updatedReplicas`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`,priority=1
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.template.provider`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 50 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 50 characters: lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit"
type NodePool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodePoolSpec `json:"spec"`
	// +optional
	Status NodePoolStatus `json:"status,omitempty"`
}

// NodePoolSpec is the desired state of a pool of workers.
//
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas",message="minReplicas is above maxReplicas; choose minReplicas <= maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.minReplicas) || self.replicas >= self.minReplicas",message="replicas is below minReplicas; raise replicas or lower minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || self.replicas <= self.maxReplicas",message="replicas is above maxReplicas; lower replicas or raise maxReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || has(self.maxReplicas)",message="autoscaling needs maxReplicas: say how many machines the pool may have at most"
// +kubebuilder:validation:XValidation:rule="!has(self.autoscaling) || !has(self.template.provider) || self.template.provider != 'manual'",message="autoscaling is not possible with machines that the user joins: KQueen cannot create them; remove autoscaling or choose another template.provider"
// +kubebuilder:validation:XValidation:rule="self.clusterName == oldSelf.clusterName",message="clusterName cannot be changed; create a new pool in the other cluster instead"
type NodePoolSpec struct {
	// ClusterName names the Cluster, in the same namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	ClusterName string `json:"clusterName"`
	// Replicas is how many machines there should be. With autoscaling KQueen sets it.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas int32 `json:"replicas"`
	// MinReplicas bounds replicas from below, for a user or program that scales the pool, and for autoscaling.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MinReplicas *int32 `json:"minReplicas,omitempty"`
	// MaxReplicas bounds replicas from above, for a user or program that scales the pool, and for autoscaling.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	MaxReplicas *int32 `json:"maxReplicas,omitempty"`
	// Autoscaling has KQueen set replicas by the need of the cluster's pods, from minReplicas (0 without it) to maxReplicas. Without it
	// replicas is what the user says.
	// +optional
	Autoscaling *PoolAutoscaling `json:"autoscaling,omitempty"`
	// Version of Kubernetes on the machines; empty follows the cluster. It may be up to three minors
	// older than the cluster's and not newer.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version,omitempty"`
	// Template is the template of each machine.
	// +optional
	// +kubebuilder:default={}
	Template MachineTemplate `json:"template,omitempty"`
	// Health says when a machine is given up and replaced.
	// +optional
	// +kubebuilder:default={}
	Health HealthPolicy `json:"health,omitempty"`
	// Rollout says how machines are replaced when version or template change.
	// +optional
	// +kubebuilder:default={}
	Rollout RolloutPolicy `json:"rollout,omitempty"`
}

// PoolAutoscaling says when a pool is made smaller. It is made larger as soon as pods wait for which it has a node.
type PoolAutoscaling struct {
	// IdleSeconds is how long a node must not have been needed before its machine is removed: all of its pods, but for those of
	// DaemonSets, have a place elsewhere and may go there. Other machines follow one by one.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=604800
	IdleSeconds *int32 `json:"idleSeconds,omitempty"`
}

// MachineTemplate is the template of each machine of a pool.
//
// +kubebuilder:validation:XValidation:rule="!has(self.resources) || !has(self.provider) || self.provider != 'manual'",message="resources cannot be given to machines that the user joins; they have what they have"
type MachineTemplate struct {
	// Provider creates the machines: local (on the host of KQueen) or manual (the user has them and
	// joins them with a command). A change replaces the machines.
	// +optional
	// +kubebuilder:default=local
	// +kubebuilder:validation:Enum=local;manual
	Provider string `json:"provider,omitempty"`
	// Parameters are settings that only the provider knows. A change replaces the machines.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
	// Resources are what each machine has. What is absent is not bounded: the machine has all that its host has, and counts
	// for as much in the organization's quota. Machines that the user joins have what they have. A change replaces
	// the machines.
	// +optional
	Resources *MachineResources `json:"resources,omitempty"`
	// VolumeCapacity is how many bytes the volumes of class local on the disk of each machine may have together, such as "50Gi"; when
	// it is absent, as many as their file system has. A change is applied to the existing nodes.
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('0')) >= 0 && quantity(string(self)).compareTo(quantity('1Pi')) <= 0",message="must be from 0 to 1Pi"
	VolumeCapacity *resource.Quantity `json:"volumeCapacity,omitempty"`
	// Labels of the nodes. A change is applied to the existing nodes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Labels map[string]string `json:"labels,omitempty"`
	// Taints of the nodes. A change is applied to the existing nodes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:XValidation:rule="self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",message="effect must be NoSchedule, PreferNoSchedule or NoExecute"
	Taints []corev1.Taint `json:"taints,omitempty"`
	// Drain says how pods leave a node before its machine is removed.
	// +optional
	// +kubebuilder:default={}
	Drain DrainPolicy `json:"drain,omitempty"`
}

// MachineResources are what the pods of a machine may use together. Its node reports as much as allocatable, memory less
// the 100Mi at which pods are evicted; as its capacity it reports that of the host.
type MachineResources struct {
	// CPU is how many processors, such as "2" or "500m".
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('100m')) >= 0 && quantity(string(self)).compareTo(quantity('1024')) <= 0",message="must be from 100m to 1024"
	CPU *resource.Quantity `json:"cpu,omitempty"`
	// Memory is how many bytes, such as "4Gi".
	// +optional
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('256Mi')) >= 0 && quantity(string(self)).compareTo(quantity('64Ti')) <= 0",message="must be from 256Mi to 64Ti"
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// DrainPolicy says how pods leave a node.
type DrainPolicy struct {
	// TimeoutSeconds is how long pods may take to leave, and PodDisruptionBudgets may refuse. After it the
	// machine is removed with the pods that are left. 0 waits without limit.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	TimeoutSeconds *int32 `json:"timeoutSeconds,omitempty"`
}

// HealthPolicy says when a machine is given up and replaced.
type HealthPolicy struct {
	// UnreadyTimeoutSeconds is how long a node that was ready may be unready. Kubernetes notices nodes that die together
	// up to ten seconds apart; with less time than that some may be replaced before MaxUnhealthy counts the others.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=1
	UnreadyTimeoutSeconds *int32 `json:"unreadyTimeoutSeconds,omitempty"`
	// StartupTimeoutSeconds is how long a new machine may take to become a ready node. It does not count for
	// machines that the user joins.
	// +optional
	// +kubebuilder:default=900
	// +kubebuilder:validation:Minimum=1
	StartupTimeoutSeconds *int32 `json:"startupTimeoutSeconds,omitempty"`
	// MaxUnhealthy is how many machines, as a number or in percent of spec.replicas (rounded down, at
	// least one), may be unhealthy at once. When more are, none is replaced.
	// +optional
	// +kubebuilder:default="40%"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number of machines up to 1000 or a percentage such as 40%"
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
}

// RolloutPolicy says how machines are replaced when version or template change.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.maxSurge) && has(self.maxUnavailable) && (self.maxSurge == 0 || self.maxSurge == '0%') && (self.maxUnavailable == 0 || self.maxUnavailable == '0%'))",message="maxSurge and maxUnavailable are both 0, so no machine could ever be replaced; raise one of them"
type RolloutPolicy struct {
	// MaxSurge is how many machines, as a number or in percent of spec.replicas (rounded up), there may be
	// above spec.replicas.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number of machines up to 1000 or a percentage such as 25%"
	MaxSurge *intstr.IntOrString `json:"maxSurge,omitempty"`
	// MaxUnavailable is how many machines, as a number or in percent of spec.replicas (rounded down), may
	// be missing or unready.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == int ? self >= 0 && self <= 1000 : self.matches('^(100|[1-9]?[0-9])%$')",message="must be a number of machines up to 1000 or a percentage such as 25%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
}

// NodePoolStatus is what is known of a pool.
type NodePoolStatus struct {
	Status `json:",inline"`
	// Replicas is how many machines there are, those being removed not counted.
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// ReadyReplicas is how many of them are ready nodes.
	// +optional
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`
	// UpdatedReplicas is how many of them have the present template and version.
	// +optional
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`
	// Selector selects the pool's machines, for the scale subresource.
	// +optional
	Selector string `json:"selector,omitempty"`
	// Autoscaling is what was decided of a pool with spec.autoscaling, and why.
	// +optional
	Autoscaling *PoolAutoscalingStatus `json:"autoscaling,omitempty"`
}

// PoolAutoscalingStatus is what was decided of how many machines a pool has, and why.
type PoolAutoscalingStatus struct {
	// LastScaleTime is when KQueen changed spec.replicas last.
	// +optional
	LastScaleTime *metav1.Time `json:"lastScaleTime,omitempty"`
	// LastScale says how it was changed then, and why.
	// +optional
	LastScale string `json:"lastScale,omitempty"`
	// Message says why the pool is not larger or smaller now.
	// +optional
	Message string `json:"message,omitempty"`
	// PendingPods are pods, as NAMESPACE/NAME, for which the scheduler finds no node, and why they do not make this pool larger. There may be
	// more.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	PendingPods []AutoscalingCause `json:"pendingPods,omitempty"`
	// Nodes are nodes of the pool, and why they stay or when they go. There may be more.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Nodes []AutoscalingCause `json:"nodes,omitempty"`
}

// AutoscalingCause is why something was decided of a pod or a node.
type AutoscalingCause struct {
	// Name of the pod or node.
	Name string `json:"name"`
	// Message says why.
	Message string `json:"message"`
}

// +kubebuilder:object:root=true

// NodePoolList is a list of pools.
type NodePoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodePool `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (p *NodePool) Shared() *Status { return &p.Status.Status }
