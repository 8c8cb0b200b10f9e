package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Conditions of a Cluster, beside those of every kind, in the order in which they come true.
const (
	// ConditionAccepted is true when the provisioner and the version are there to be used.
	ConditionAccepted = "Accepted"
	// ConditionKubeconfigReady is true when the Secret with the admin kubeconfig is written. The
	// API server may not answer yet.
	ConditionKubeconfigReady = "KubeconfigReady"
	// ConditionProvisioned is true while the provisioner reports that the cluster exists and its API server is healthy.
	ConditionProvisioned = "Provisioned"
	// ConditionAddonsReady is true while all addons are ready, and while the cluster has no node pools, without which none
	// runs. Ready does not depend on it.
	ConditionAddonsReady = "AddonsReady"
	// ConditionWorkersGone is false while the cluster is being deleted and still has node pools or machines,
	// which go first.
	ConditionWorkersGone = "WorkersGone"
)

// Reasons of a Cluster's conditions.
const (
	// ReasonAccepted: the provisioner and the version are there to be used.
	ReasonAccepted = "Accepted"
	// ReasonProvisionerNotFound: no Provisioner of that name is in the namespace that the reference means.
	ReasonProvisionerNotFound = "ProvisionerNotFound"
	// ReasonProvisionerNotReady: the Provisioner is there but its driver does not take it.
	ReasonProvisionerNotReady = "ProvisionerNotReady"
	// ReasonProvisionerChanged: the provisioner has other parameters or credentials than those with which the cluster
	// was found, and finds nothing of it with them. The message says what to do.
	ReasonProvisionerChanged = "ProvisionerChanged"
	// ReasonProvisionerUnreachable: what the provisioner has to ask did not answer, so that it cannot tell how the
	// cluster is.
	ReasonProvisionerUnreachable = "ProvisionerUnreachable"
	// ReasonInsufficientCapacity: there is no capacity for the cluster, or a quota of the provisioner's account is used up.
	ReasonInsufficientCapacity = "InsufficientCapacity"
	// ReasonRefused: the provisioner does not take the cluster; the message names the field.
	ReasonRefused = "Refused"
	// ReasonProvisioned: the provisioner reports that the cluster exists and its API server is healthy.
	ReasonProvisioned = "Provisioned"
	// ReasonProvisioning: the provisioner is at work; the message names the step.
	ReasonProvisioning = "Provisioning"
	// ReasonDegraded: the cluster exists but is not healthy; the message names the part.
	ReasonDegraded = "Degraded"
	// ReasonProvisionerFailed: the provisioner reports a failure; the message has its cause.
	ReasonProvisionerFailed = "ProvisionerFailed"
	// ReasonDeprovisioning: the provisioner is removing what it created.
	ReasonDeprovisioning = "Deprovisioning"
	// ReasonWorkersRemaining: node pools or machines are still being removed; the message names them.
	ReasonWorkersRemaining = "WorkersRemaining"
	// ReasonKubeconfigPublished: the Secret with the admin kubeconfig is written.
	ReasonKubeconfigPublished = "KubeconfigPublished"
	// ReasonKubeconfigSet: the cluster is reached by the kubeconfig that a user has set for it; there is no other one.
	ReasonKubeconfigSet = "KubeconfigSet"
	// ReasonCredentialsRefused: the cluster refuses the credentials that were set for it; the message says what to do.
	ReasonCredentialsRefused = "CredentialsRefused"
	// ReasonAgentEnrolled: the cluster is reached by the agent in it.
	ReasonAgentEnrolled = "AgentEnrolled"
	// ReasonAgentPending: the cluster waits for its agent to enroll; the message says how to start it.
	ReasonAgentPending = "AgentPending"
	// ReasonOffline: nothing was heard of the agent in the cluster for a minute; the message says since when.
	ReasonOffline = "Offline"
	// ReasonKubeconfigPending: the provisioner has not given a kubeconfig yet.
	ReasonKubeconfigPending = "KubeconfigPending"
)

// Cluster is one Kubernetes cluster, whatever driver creates it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=kc,categories=kqueen
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`
// +kubebuilder:printcolumn:name="Provisioner",type=string,JSONPath=`.spec.provisionerRef.name`
// +kubebuilder:printcolumn:name="Endpoint",type=string,JSONPath=`.status.endpoint`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 40 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="metadata.name must be a DNS label of at most 40 characters: lower-case letters, digits and '-', beginning with a letter and ending with a letter or digit"
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec ClusterSpec `json:"spec"`
	// +optional
	Status ClusterStatus `json:"status,omitempty"`
}

// ClusterSpec is the desired state of a cluster.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.podSecurity) || has(self.podSecurity)",message="podSecurity cannot be left out once it was said; say privileged, baseline or restricted"
// +kubebuilder:validation:XValidation:rule="!has(self.cni) || self.cni != 'Flannel' || !has(self.network) || !has(self.network.podCIDR) || !isCIDR(self.network.podCIDR) || cidr(self.network.podCIDR).ip().family() == 4",message="cni Flannel needs an IPv4 range of pods in network.podCIDR, such as 10.244.0.0/16"
type ClusterSpec struct {
	// ProvisionerRef names the Provisioner that creates the cluster.
	// +optional
	// +kubebuilder:default={}
	ProvisionerRef ProvisionerReference `json:"provisionerRef,omitempty"`
	// Version of Kubernetes, such as "v1.36.3". It may be raised by a patch or by one minor, and lowered to an earlier patch, or by the one
	// minor that emulatedVersion has named. Drivers that create clusters require it; a cluster that is adopted has the version that it has, and
	// must not name one.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+\.[0-9]+$`
	Version string `json:"version,omitempty"`
	// EmulatedVersion is the minor that the control plane serves and behaves as, such as "v1.35": that of version, which it is when it is
	// absent, or the one before, to which the cluster can then go back (upstream's --emulated-version). It is for clusters whose control plane
	// KQueen hosts. A change restarts the control plane.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:Pattern=`^v[0-9]+\.[0-9]+$`
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// Network is the cluster's addressing. It cannot be changed later, but for extraSANs.
	// +optional
	// +kubebuilder:default={}
	Network Network `json:"network,omitempty"`
	// CNI says which plugin provides the pod network: Routes (between machines that KQueen creates itself), Flannel (VXLAN
	// between machines that reach each other, for IPv4) or None (you install your own; nodes become ready when it
	// runs). It cannot be changed later.
	// +optional
	// +kubebuilder:default=Routes
	// +kubebuilder:validation:Enum=Routes;Flannel;None
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="cni cannot be changed; create a new cluster instead"
	CNI string `json:"cni,omitempty"`
	// PodSecurity is the level of Kubernetes' Pod Security Standards that the API server holds pods to, in all namespaces but
	// kube-system: privileged (no bounds), baseline (nothing that is known to lead out of a pod) or restricted (hardened
	// pods alone). It needs a driver with the feature PodSecurity, and privileged that the organization may have it. When it
	// is absent, a new cluster has baseline, and one that was created before there were levels goes on with privileged. A change
	// restarts the API server; pods that run stay.
	// +optional
	// +kubebuilder:validation:Enum=privileged;baseline;restricted
	PodSecurity string `json:"podSecurity,omitempty"`
	// AuditLog is what the cluster's API server writes down of what its callers do, by the levels of Kubernetes' audit policy:
	// Metadata (who did what to which object, when, and what became of it), RequestResponse (the bodies of changes too, but
	// for those with secrets) or None. A change restarts the API server. It is for clusters whose control plane KQueen hosts.
	// +optional
	// +kubebuilder:default=Metadata
	// +kubebuilder:validation:Enum=None;Metadata;RequestResponse
	AuditLog string `json:"auditLog,omitempty"`
	// Addons are settings of the applications that KQueen runs in the cluster once it has a node pool. What they leave out is as the
	// organization, the provisioner and the catalogue say.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Addons []AddonSetting `json:"addons,omitempty"`
	// Maintenance says when steps of an Upgrade may begin to change the cluster; any time where it is absent. It is for clusters whose control
	// plane KQueen hosts.
	// +optional
	Maintenance *Maintenance `json:"maintenance,omitempty"`
	// Hibernation says when the cluster sleeps; never where it is absent. It is for clusters whose control plane KQueen hosts.
	// +optional
	Hibernation *Hibernation `json:"hibernation,omitempty"`
	// Parameters are settings for this one cluster that only its driver knows.
	// +optional
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Type=object
	Parameters *apiextensionsv1.JSON `json:"parameters,omitempty"`
}

// Maintenance says when a cluster may be changed by what goes on for long.
type Maintenance struct {
	// Windows are when steps may begin; any time where there are none. A step that has begun goes on when its window ends.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []MaintenanceWindow `json:"windows,omitempty"`
	// TimeZone in which the schedules are, such as "Europe/Prague"; UTC where it is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// FreezeEndTime is until when no step begins, in no window.
	// +optional
	FreezeEndTime *metav1.Time `json:"freezeEndTime,omitempty"`
	// UpgradeChannel says to which versions the cluster is upgraded by itself: None, or Patch for the newest patch of its minor that the
	// installation has. Each version is tried once.
	// +optional
	// +kubebuilder:default=None
	// +kubebuilder:validation:Enum=None;Patch
	UpgradeChannel string `json:"upgradeChannel,omitempty"`
}

// Values of spec.maintenance.upgradeChannel.
const (
	UpgradeChannelNone  = "None"
	UpgradeChannelPatch = "Patch"
)

// MaintenanceWindow is a time that comes again.
type MaintenanceWindow struct {
	// Schedule is when it begins, as cron says it: five fields such as "0 2 * * SAT", or @daily, @weekly, @monthly.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=100
	Schedule string `json:"schedule"`
	// DurationSeconds is how long it lasts: from 900 (15 minutes) to 604800 (7 days).
	// +kubebuilder:validation:Minimum=900
	// +kubebuilder:validation:Maximum=604800
	DurationSeconds int32 `json:"durationSeconds"`
}

// Hibernation says when a cluster sleeps. Its control plane and its machines on KQueen's host do not run then, and pods there end; what is
// stored stays. A client that connects wakes it, and waits until it is answered; so do its CronJobs, before they are due. Machines that
// users have joined run on.
type Hibernation struct {
	// Asleep puts the cluster to sleep now. What wakes it does so until it was idle for idleSeconds.
	// +optional
	Asleep bool `json:"asleep,omitempty"`
	// Windows are when it sleeps. It wakes when the last one that is open ends.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Windows []MaintenanceWindow `json:"windows,omitempty"`
	// TimeZone in which the schedules are, such as "Europe/Prague"; UTC where it is absent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
	// WhenIdle has the cluster sleep whenever it was idle for idleSeconds, at any time.
	// +optional
	WhenIdle bool `json:"whenIdle,omitempty"`
	// IdleSeconds is for how long no user or program has called the API server, and no Job has run, before the cluster is idle: from 60 to
	// 604800 (7 days), 900 where it is absent. What Kubernetes, the nodes and KQueen call by themselves does not count.
	// +optional
	// +kubebuilder:validation:Minimum=60
	// +kubebuilder:validation:Maximum=604800
	IdleSeconds *int32 `json:"idleSeconds,omitempty"`
	// SleepRequestTime is when a user last asked for the cluster to sleep at once: what woke it before that counts no more.
	// +optional
	SleepRequestTime *metav1.Time `json:"sleepRequestTime,omitempty"`
	// WakeRequestTime is when a user last asked for the cluster to be woken.
	// +optional
	WakeRequestTime *metav1.Time `json:"wakeRequestTime,omitempty"`
}

// HibernationStatus is whether a cluster is to sleep, and why.
type HibernationStatus struct {
	// Asleep says that nothing of the cluster is to run now.
	// +optional
	Asleep bool `json:"asleep,omitempty"`
	// Message says why, and what comes next.
	// +optional
	Message string `json:"message,omitempty"`
	// TransitionTime is when asleep last became what it is.
	// +optional
	TransitionTime *metav1.Time `json:"transitionTime,omitempty"`
	// Asked is spec.hibernation.asleep as it was seen last.
	// +optional
	Asked bool `json:"asked,omitempty"`
	// WokenTime is when it was woken last.
	// +optional
	WokenTime *metav1.Time `json:"wokenTime,omitempty"`
	// LastRequestTime is when a user or program last called the API server, as far as that was looked at.
	// +optional
	LastRequestTime *metav1.Time `json:"lastRequestTime,omitempty"`
	// NextCronJobTime is when the next CronJob is due, for which the cluster wakes a minute before, as it was when it fell asleep.
	// +optional
	NextCronJobTime *metav1.Time `json:"nextCronJobTime,omitempty"`
}

// ProvisionerReference names a Provisioner.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="provisionerRef cannot be changed; create a new Cluster instead"
type ProvisionerReference struct {
	// Name of the Provisioner.
	// +optional
	// +kubebuilder:default=hosted
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// Namespace of the Provisioner: the cluster's own, or kqueen-system for one that all organizations share.
	// +optional
	// +kubebuilder:default=kqueen-system
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// Network is a cluster's addressing.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podCIDR) || !has(self.serviceCIDR) || !isCIDR(self.podCIDR) || !isCIDR(self.serviceCIDR) || (!cidr(self.podCIDR).containsIP(cidr(self.serviceCIDR).ip()) && !cidr(self.serviceCIDR).containsIP(cidr(self.podCIDR).ip()))",message="podCIDR and serviceCIDR overlap; choose two ranges that share no address, such as 10.244.0.0/16 and 10.96.0.0/16"
// +kubebuilder:validation:XValidation:rule="!has(self.podCIDR) || !has(oldSelf.podCIDR) || (self.podCIDR == oldSelf.podCIDR && self.serviceCIDR == oldSelf.serviceCIDR && self.dnsDomain == oldSelf.dnsDomain)",message="podCIDR, serviceCIDR and dnsDomain cannot be changed; create a new cluster instead"
type Network struct {
	// PodCIDR is the range of pod addresses, in CIDR notation.
	// +optional
	// +kubebuilder:default="10.244.0.0/16"
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self) == cidr(self).masked()",message="must be a network in CIDR notation with no host bits set, such as 10.244.0.0/16"
	PodCIDR string `json:"podCIDR,omitempty"`
	// ServiceCIDR is the range of Service addresses, in CIDR notation, of 12 to 28 bits (IPv4) or 108 to 124 bits (IPv6).
	// +optional
	// +kubebuilder:default="10.96.0.0/16"
	// +kubebuilder:validation:MaxLength=43
	// +kubebuilder:validation:XValidation:rule="isCIDR(self) && cidr(self) == cidr(self).masked()",message="must be a network in CIDR notation with no host bits set, such as 10.96.0.0/16"
	// +kubebuilder:validation:XValidation:rule="!isCIDR(self) || (cidr(self).ip().family() == 4 ? cidr(self).prefixLength() >= 12 && cidr(self).prefixLength() <= 28 : cidr(self).prefixLength() >= 108 && cidr(self).prefixLength() <= 124)",message="must have a prefix of /12 to /28 (IPv4) or /108 to /124 (IPv6)"
	ServiceCIDR string `json:"serviceCIDR,omitempty"`
	// DNSDomain is the suffix of names inside the cluster.
	// +optional
	// +kubebuilder:default="cluster.local"
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	DNSDomain string `json:"dnsDomain,omitempty"`
	// ExtraSANs are further host names and addresses under which the API server may be called.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:Pattern=`^([a-z0-9]([-a-z0-9.]*[a-z0-9])?|[0-9a-f:]+)$`
	ExtraSANs []string `json:"extraSANs,omitempty"`
}

// ClusterStatus is what is known of a cluster.
type ClusterStatus struct {
	Status `json:",inline"`
	// Version of Kubernetes that the cluster runs.
	// +optional
	Version string `json:"version,omitempty"`
	// EmulatedVersion is the older minor that its control plane behaves as, such as "v1.35"; absent while that is the one of version.
	// +optional
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// Endpoint is the URL of the API server.
	// +optional
	Endpoint string `json:"endpoint,omitempty"`
	// Join is how nodes reach the API server. It is absent when the provisioner creates the nodes itself.
	// +optional
	Join *JoinEndpoint `json:"join,omitempty"`
	// FoundWith is a digest of the provisioner's driver, parameters and version of credentials with which the cluster
	// was last found. With others it is not taken to be gone because nothing of it is found.
	// +optional
	FoundWith string `json:"foundWith,omitempty"`
	// Steps are the provisioner's steps in their order, for progress displays.
	// +optional
	// +listType=atomic
	Steps []Step `json:"steps,omitempty"`
	// Addons are the applications that KQueen runs in the cluster, as they were seen last.
	// +optional
	// +listType=map
	// +listMapKey=name
	Addons []AddonStatus `json:"addons,omitempty"`
	// Hibernation is whether the cluster is to sleep, and why; absent where it never does.
	// +optional
	Hibernation *HibernationStatus `json:"hibernation,omitempty"`
	// Ingress is by which names applications in the cluster can be reached. It is absent while the cluster has no node pool.
	// +optional
	Ingress *ClusterIngress `json:"ingress,omitempty"`
}

// Sleeps says whether nothing of the cluster is to run now.
func (s *ClusterStatus) Sleeps() bool { return s.Hibernation != nil && s.Hibernation.Asleep }

// ClusterIngress is by which names applications in a cluster can be reached without a name service of their own.
type ClusterIngress struct {
	// Domains are those of the cluster's applications. Ingresses and Gateways that bring no certificate have one for all names of one more
	// label, such as web.DOMAIN.
	// +listType=atomic
	Domains []string `json:"domains"`
	// CA is the PEM of the authority that signs that certificate. It signs names below the domains alone.
	CA []byte `json:"ca"`
	// Address is where the addon traefik answers in the network of the nodes. It is absent where KQueen's host cannot reach it.
	// +optional
	Address string `json:"address,omitempty"`
	// Port of KQueen's host, for TLS and plain HTTP, at which those names lead to that address. It is absent without one.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// Values of spec.auditLog.
const (
	// AuditNone writes nothing down.
	AuditNone = "None"
	// AuditMetadata is without bodies.
	AuditMetadata = "Metadata"
	// AuditRequestResponse has the bodies of changes.
	AuditRequestResponse = "RequestResponse"
)

// Values of spec.cni. [CNIs] lists them.
const (
	// CNIRoutes is routes between the machines that KQueen creates itself.
	CNIRoutes = "Routes"
	// CNIFlannel is flannel with VXLAN, which KQueen puts into the cluster.
	CNIFlannel = "Flannel"
	// CNINone is for users who bring their own.
	CNINone = "None"
)

// CNIs are the values of spec.cni, the default first.
func CNIs() []string { return []string{CNIRoutes, CNIFlannel, CNINone} }

// Values of spec.podSecurity. [PodSecurityLevels] lists them.
const (
	// PodSecurityPrivileged bounds nothing.
	PodSecurityPrivileged = "privileged"
	// PodSecurityBaseline refuses what is known to lead out of a pod.
	PodSecurityBaseline = "baseline"
	// PodSecurityRestricted takes hardened pods alone.
	PodSecurityRestricted = "restricted"
)

// PodSecurityLevels are the values of spec.podSecurity, from the one that bounds nothing.
func PodSecurityLevels() []string {
	return []string{PodSecurityPrivileged, PodSecurityBaseline, PodSecurityRestricted}
}

// JoinEndpoint is how nodes reach an API server.
type JoinEndpoint struct {
	// Server is host:port.
	Server string `json:"server"`
	// CA is the PEM of the authority that signs the server's certificate.
	CA []byte `json:"ca"`
	// ServerName is a name in the server's certificate: the host of the issuer of its service accounts' tokens, which
	// pods ask for the keys of that issuer. It is absent when they need no help to find it.
	// +optional
	ServerName string `json:"serverName,omitempty"`
}

// Step is one step of long work.
type Step struct {
	// Name of the step, as a user reads it.
	Name string `json:"name"`
	// Done says that the step is behind us.
	Done bool `json:"done"`
	// Message says what is being waited for while the step is not done.
	// +optional
	Message string `json:"message,omitempty"`
}

// +kubebuilder:object:root=true

// ClusterList is a list of clusters.
type ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Cluster `json:"items"`
}

// Shared returns the part of the status that all kinds have.
func (c *Cluster) Shared() *Status { return &c.Status.Status }

// KubeconfigSecret is the name of the Secret with the admin kubeconfig, in the
// cluster's namespace, under the key KubeconfigKey.
func (c *Cluster) KubeconfigSecret() string { return c.Name + "-kubeconfig" }

// CredentialsSecret is the name of the Secret with what a user has set for the cluster to be reached by, in the cluster's namespace;
// of an adopted one a kubeconfig, under CredentialKubeconfig. It is written by KQueen alone, goes with the Cluster, and is never shown.
func (c *Cluster) CredentialsSecret() string { return "cluster-" + string(c.UID) }

// NewCredentialsSecret returns the Secret for the credentials of the cluster, which are data.
func (c *Cluster) NewCredentialsSecret(data map[string][]byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.Namespace, Name: c.CredentialsSecret(),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(c, GroupVersion.WithKind("Cluster"))},
		},
		Type: SecretTypeClusterCredentials, Data: data,
	}
}

// CredentialKubeconfig is the key of the kubeconfig by which an adopted cluster is reached.
const CredentialKubeconfig = "kubeconfig"

// LabelSimulated is on a Cluster that is simulated: nothing runs in it. "kqueen up --demo" creates some.
const LabelSimulated = "kqueen.io/simulated"

// CredentialAgent is the key of the record by which an agent in an adopted cluster is known. KQueen writes it when the agent enrolls.
const CredentialAgent = "agent"

// LabelAgent is on the Secret with the credentials of a Cluster that has such a record.
const LabelAgent = "kqueen.io/agent"

// SecretTypeClusterCredentials is the type of the Secret with the credentials of a Cluster.
const SecretTypeClusterCredentials corev1.SecretType = "kqueen.io/cluster-credentials" //nolint:gosec // names a type

// IngressSecret is the name of the Secret with the authority and the default certificate of the cluster's Ingresses: ca.crt, ca.key,
// tls.crt and tls.key. It is in the cluster's namespace.
func (c *Cluster) IngressSecret() string { return c.Name + "-ingress" }

// KubeconfigKey is the key under which a Secret holds a kubeconfig; the name is Cluster API's.
const KubeconfigKey = "value"
