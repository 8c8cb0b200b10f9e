package rest

import "time"

// HeaderInventoryAsOf has the numbers of an [InventoryAsOf] as JSON, of every answer about what runs in clusters.
const HeaderInventoryAsOf = "Inventory-As-Of"

// InventoryPage is a page of an answer about what runs in clusters.
type InventoryPage[T any] struct {
	Items []T `json:"items"`
	// Cursor leads to the next page; empty on the last one.
	Cursor string        `json:"cursor,omitempty"`
	AsOf   InventoryAsOf `json:"asOf"`
}

// InventoryAsOf says how well the clusters are known that an answer is about. A cluster that is not watched now is shown as it
// was seen last.
type InventoryAsOf struct {
	// OldestAt is the time until which all of the answer is known; absent where there is no cluster, or one that was never seen.
	OldestAt *time.Time `json:"oldestAt,omitempty"`
	// Clusters is how many there are: those that are watched now, those that should be and are not, and those that have left.
	Clusters int `json:"clusters"`
	Live     int `json:"live"`
	Lost     int `json:"lost"`
	Ended    int `json:"ended"`
	// NotLive are the lost ones, the one that was seen the longest ago first, as many as an answer has place for.
	NotLive []InventoryCluster `json:"notLive,omitempty"`
}

// InventoryCluster is a cluster, and how well it is known.
type InventoryCluster struct {
	Organization string `json:"organization"`
	Cluster      string `json:"cluster"`
	// UID tells it from an earlier one of the same name.
	UID    string            `json:"uid"`
	Labels map[string]string `json:"labels,omitempty"`
	// FirstSeenAt is the first observation, and AsOf the time until which what is answered of it is known.
	FirstSeenAt *time.Time `json:"firstSeenAt,omitempty"`
	AsOf        *time.Time `json:"asOf,omitempty"`
	// Live says that it is watched now; Message says why not.
	Live    bool   `json:"live"`
	Message string `json:"message,omitempty"`
	// EndedAt is when it left; absent while it has not.
	EndedAt *time.Time `json:"endedAt,omitempty"`
}

// InventoryChange says of a row between two times whether it was there at the end and not at the begin, or the other way round.
type InventoryChange string

// The changes.
const (
	InventoryAppeared InventoryChange = "Appeared"
	InventoryVanished InventoryChange = "Vanished"
)

// InventoryPlace is where something was seen and when it was so.
type InventoryPlace struct {
	Organization string `json:"organization"`
	Cluster      string `json:"cluster"`
	ClusterUID   string `json:"clusterUID"`
	// Since is when it became so, or when a gap in watching ended; Until is when it ended, absent while it is so.
	Since *time.Time `json:"since,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// AsOf is the time until which what is answered of the cluster is known, and Live says that it is watched now.
	AsOf *time.Time `json:"asOf,omitempty"`
	Live bool       `json:"live"`
}

// InventoryImageName is an image as a container runs it.
type InventoryImageName struct {
	// Reference is the image in full, such as "docker.io/library/nginx:1.27".
	Reference  string `json:"reference"`
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	// Digest is what runs; empty while no kubelet has said.
	Digest string `json:"digest,omitempty"`
}

// InventoryImage is an image over clusters.
type InventoryImage struct {
	InventoryImageName

	Clusters   int `json:"clusters"`
	Containers int `json:"containers"`
	// FirstSeenAt and LastSeenAt are over all time; LastSeenAt is absent while it runs.
	FirstSeenAt *time.Time `json:"firstSeenAt,omitempty"`
	LastSeenAt  *time.Time `json:"lastSeenAt,omitempty"`
	// Change is set where it was asked for what changed between two times.
	Change InventoryChange `json:"change,omitempty"`
}

// InventoryContainer is a container of a pod.
type InventoryContainer struct {
	InventoryPlace

	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	// Type is App, Init, Sidecar or Ephemeral; Static says that a kubelet runs the pod from a file.
	Type   string             `json:"type"`
	Static bool               `json:"static,omitempty"`
	Image  InventoryImageName `json:"image"`
	// WorkloadKind and WorkloadName say what the pod belongs to, such as a Deployment; a pod that no controller owns is its own.
	WorkloadKind string `json:"workloadKind,omitempty"`
	WorkloadName string `json:"workloadName,omitempty"`
	Node         string `json:"node,omitempty"`
	// Phase is the pod's; Reason says why the container does not run.
	Phase  string `json:"phase,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// InventorySearch asks which containers run images, as a feed of vulnerabilities names them.
type InventorySearch struct {
	// Digests of images, such as "sha256:…".
	Digests []string `json:"digests" minItems:"1" maxItems:"1000"`
}

// InventoryBinary is a version of a program of Kubernetes over clusters; with Place, one that runs there.
type InventoryBinary struct {
	Component string `json:"component"`
	// Version is empty where it cannot be seen: Managed says that a provider runs it.
	Version string `json:"version,omitempty"`
	Managed bool   `json:"managed,omitempty"`
	// Clusters and Nodes are how many run it; absent with Place. Nodes is absent for what does not run on nodes.
	Clusters int `json:"clusters,omitempty"`
	Nodes    int `json:"nodes,omitempty"`
	// FirstSeenAt and LastSeenAt are over all time; LastSeenAt is absent while it runs.
	FirstSeenAt *time.Time `json:"firstSeenAt,omitempty"`
	LastSeenAt  *time.Time `json:"lastSeenAt,omitempty"`
	// Change is set where it was asked for what changed between two times.
	Change InventoryChange `json:"change,omitempty"`
	// Place is set where it was asked for places; Node is empty for what runs for the whole cluster, and Image where it is no container.
	Place *InventoryPlace `json:"place,omitempty"`
	Node  string          `json:"node,omitempty"`
	Image string          `json:"image,omitempty"`
}

// InventoryNode is a node.
type InventoryNode struct {
	InventoryPlace

	Node             string `json:"node"`
	KubeletVersion   string `json:"kubeletVersion,omitempty"`
	KubeProxyVersion string `json:"kubeProxyVersion,omitempty"`
	Runtime          string `json:"runtime,omitempty"`
	Kernel           string `json:"kernel,omitempty"`
	OS               string `json:"os,omitempty"`
	Architecture     string `json:"architecture,omitempty"`
	// Ready is the status of the condition: True, False or Unknown; Message says why it is not True.
	Ready         string            `json:"ready,omitempty"`
	Message       string            `json:"message,omitempty"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Pressure      []string          `json:"pressure,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`
	Capacity      InventoryAmounts  `json:"capacity"`
	Allocatable   InventoryAmounts  `json:"allocatable"`
}

// InventoryAmounts are resources of a node.
type InventoryAmounts struct {
	// MilliCPU is in thousandths of a processor, Memory in bytes.
	MilliCPU int64 `json:"milliCPU"`
	Memory   int64 `json:"memory"`
	Pods     int64 `json:"pods"`
}

// InventoryWorkload is what creates pods: a Deployment, StatefulSet, DaemonSet, Job or CronJob.
type InventoryWorkload struct {
	InventoryPlace

	Namespace string            `json:"namespace"`
	Kind      string            `json:"kind"`
	Name      string            `json:"name"`
	Desired   int32             `json:"desired"`
	Ready     int32             `json:"ready"`
	Labels    map[string]string `json:"labels,omitempty"`
}

// InventoryCertificate is a certificate that was seen in a cluster.
type InventoryCertificate struct {
	InventoryPlace

	// Source is where it was seen: apiserver, or Secret.
	Source    string     `json:"source"`
	Namespace string     `json:"namespace,omitempty"`
	Name      string     `json:"name"`
	Subject   string     `json:"subject,omitempty"`
	Issuer    string     `json:"issuer,omitempty"`
	DNSNames  []string   `json:"dnsNames,omitempty"`
	ExpiresAt *time.Time `json:"expiresAt,omitempty"`
}

// InventoryFinding is something in a cluster that deserves attention.
type InventoryFinding struct {
	InventoryPlace

	Rule string `json:"rule"`
	// Severity is Critical, Warning or Info.
	Severity string `json:"severity"`
	// Kind, Namespace, Name and Part say what it is about.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Part      string `json:"part,omitempty"`
	// Reason says what is so, and Remedy what to do.
	Reason string `json:"reason"`
	Remedy string `json:"remedy,omitempty"`
}
