package inventory

import "time"

// Cluster names a cluster whose parts are observed. UID is what tells it from an earlier one of the same name.
type Cluster struct {
	UID, Organization, Name string
	// Labels are those of the Cluster object, by which queries select; nil for none.
	Labels map[string]string
}

// Kind is a sort of thing that is observed in clusters.
type Kind string

// The kinds.
const (
	KindContainer   Kind = "Container"
	KindNode        Kind = "Node"
	KindComponent   Kind = "Component"
	KindWorkload    Kind = "Workload"
	KindNamespace   Kind = "Namespace"
	KindService     Kind = "Service"
	KindIngress     Kind = "Ingress"
	KindVolume      Kind = "Volume"
	KindCertificate Kind = "Certificate"
	KindWarning     Kind = "Warning"
	KindAPI         Kind = "API"
)

// Key names a thing in its cluster for as long as it is there. Which parts are filled in depends on its kind; Name always is.
type Key struct {
	Kind Kind
	// Namespace is empty for what is in none.
	Namespace string
	// Name is the object's. Of a container it is its pod's, and of a component the node's on which it runs ("" for the cluster's).
	Name string
	// Part is the name of the container, or the component ("kubelet", "kube-apiserver").
	Part string
	// UID of the object: a pod of a StatefulSet has the name of the one before. Empty where there is none.
	UID string
}

// Item is a thing as it was observed. Exactly the field of its kind is set. Equal items are the same observation: what changes all
// the time (heartbeats, resource versions, counts of restarts) is left out by the collector.
type Item struct {
	Key         Key
	Container   *Container   `json:"container,omitempty"`
	Node        *Node        `json:"node,omitempty"`
	Component   *Component   `json:"component,omitempty"`
	Workload    *Workload    `json:"workload,omitempty"`
	Service     *Service     `json:"service,omitempty"`
	Ingress     *Ingress     `json:"ingress,omitempty"`
	Volume      *Volume      `json:"volume,omitempty"`
	Certificate *Certificate `json:"certificate,omitempty"`
	Warning     *Warning     `json:"warning,omitempty"`
	API         *API         `json:"api,omitempty"`
	Namespace   *Namespace   `json:"namespace,omitempty"`
}

// ContainerType says what a container is for in its pod.
type ContainerType string

// The types of containers.
const (
	TypeApp       ContainerType = "App"
	TypeInit      ContainerType = "Init"
	TypeSidecar   ContainerType = "Sidecar" // an init container that is restarted always
	TypeEphemeral ContainerType = "Ephemeral"
)

// Container is a container of a pod.
type Container struct {
	Type ContainerType
	// Static says that a kubelet runs the pod from a file.
	Static bool
	Image  Image
	// Workload owns the pod: "Deployment", "web". A pod that no controller owns is its own: "Pod", NAME.
	WorkloadKind, WorkloadName string
	// Node is empty while the pod is not scheduled.
	Node string
	// Phase is that of the pod; Reason says why the container does not run, such as CrashLoopBackOff; empty when it does, or has
	// run to its end.
	Phase, Reason string
}

// Image is what a container runs.
type Image struct {
	// Reference is the image as the pod names it, in full: "docker.io/library/nginx:1.27".
	Reference string
	// Repository is the reference without tag and digest, Tag its tag ("" when it has a digest alone).
	Repository, Tag string
	// Digest is what runs, "sha256:...", from the status of the container; empty while no kubelet has said.
	Digest string
}

// Node is a node.
type Node struct {
	KubeletVersion, KubeProxyVersion, Runtime, Kernel, OS, Architecture string
	// Ready is the status of the condition; Message is the condition's when it is not True.
	Ready, Message string
	Unschedulable  bool
	// Pressure names the other conditions that are True, sorted: DiskPressure and the like.
	Pressure []string
	Labels   map[string]string
	// Capacity and Allocatable are in millicores, bytes and pods.
	Capacity, Allocatable Resources
}

// Resources are amounts. CPU is in thousandths of a processor, Memory in bytes.
type Resources struct{ CPU, Memory, Pods int64 }

// Component is a program of Kubernetes itself that runs in or for a cluster: "kube-apiserver", "etcd", "kubelet", "containerd",
// "kube-proxy", "coredns", a CNI, a CSI driver.
type Component struct {
	// Version such as "v1.36.3"; empty where it cannot be seen.
	Version string
	// Image is set where it runs as a container.
	Image string
	// Managed says that the provider runs it, so that its version cannot be seen.
	Managed bool
}

// Workload is what makes pods: a Deployment, StatefulSet, DaemonSet, Job or CronJob. Its key's Part is the kind.
type Workload struct {
	Desired, Ready int32
	Labels         map[string]string
	// Selector is that of its pods.
	Selector map[string]string
}

// Namespace is a namespace.
type Namespace struct{ Labels map[string]string }

// Service is a Service.
type Service struct {
	Type     string
	Selector map[string]string
	// Ports are "TCP/80".
	Ports []string
	// Addresses are those of its load balancer.
	Addresses []string
}

// Ingress is an Ingress.
type Ingress struct {
	Class    string
	Hosts    []string
	Services []string
	// Secrets are the names of its TLS Secrets.
	Secrets []string
}

// Volume is a PersistentVolumeClaim, or a PersistentVolume, whose namespace is empty.
type Volume struct {
	StorageClass, Phase string
	// Bytes is its capacity.
	Bytes int64
	// Bound is the name of the volume of a claim.
	Bound string
}

// PartAuthority is the part of certificates of authorities.
const PartAuthority = "authority"

// Certificate is a certificate whose expiry matters. Its key's Part says where it was seen: "apiserver", "Secret", or [PartAuthority] for
// that by which the API server is believed.
type Certificate struct {
	Subject, Issuer string
	DNSNames        []string
	NotAfter        time.Time
}

// Warning is an event of type Warning, one for each object and reason.
type Warning struct {
	Reason, Message, ObjectKind string
	LastSeen                    time.Time
}

// API is a deprecated API that callers of a cluster's API server have used. Its key's Name is "GROUP/VERSION/RESOURCE".
type API struct {
	// RemovedIn is the minor in which it is gone, such as "1.32"; empty where that is not said.
	RemovedIn string
}

// Changes are what became known of a cluster at one moment.
type Changes struct {
	// At is when.
	At time.Time
	// Whole are the kinds of which Set has all that there is: what is not in it is gone. It is what a list brings, after a start, a
	// gap in a watch, or a restored database.
	Whole []Kind
	// Set are new and changed items.
	Set []Item
	// Gone are those that are there no more.
	Gone []Key
}
