package upgrade

import (
	"k8s.io/apimachinery/pkg/util/intstr"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// Seen is what a cluster says of itself, as far as an upgrade may founder on it. All texts in it are in one line and cut.
type Seen struct {
	Nodes []Node
	// Definitions are the CustomResourceDefinitions.
	Definitions []Definition
	Budgets     []Budget
	// Webhooks are those of admission that must answer before a node, a pod or a lease is changed.
	Webhooks []Webhook
	// Answering are the Services with an endpoint that is ready, of those that webhooks name.
	Answering map[Service]bool
	// NotRead are the resources that could not be read, or not in full.
	NotRead []listing.NotRead
}

// Node is a node of the cluster.
type Node struct {
	Name string
	// Pool is the node pool that its label names.
	Pool string
	// Kubelet is its version, as the kubelet says it.
	Kubelet string
	Ready   bool
}

// Definition is a CustomResourceDefinition.
type Definition struct {
	Name string
	// Stored are the versions in which objects may be stored, and Served says of each version that there is whether it is served.
	Stored []string
	Served map[string]bool
	// Converter is the Service that converts between versions; nil for none.
	Converter *Service
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Namespace, Name              string
	MaxUnavailable, MinAvailable *intstr.IntOrString
	// Allowed is how many pods may be disrupted now, and Expected how many pods it counts.
	Allowed, Expected int32
}

// Webhook is one of admission that refuses what it cannot be asked about.
type Webhook struct {
	// Configuration is its object, such as "ValidatingWebhookConfiguration policy".
	Configuration, Name string
	Service             Service
	// Of are the resources among nodes, pods and leases that it is asked about.
	Of []string
}

// Service is one of the cluster.
type Service struct{ Namespace, Name string }

func (s Service) String() string { return s.Namespace + "/" + s.Name }

// API is a deprecated API that clients of a cluster call.
type API struct {
	Group, Version, Resource string
	// RemovedIn is the minor in which it is gone, as the API server says it, such as "1.37"; empty where it does not.
	RemovedIn string
}
