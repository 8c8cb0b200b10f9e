package rest

import "time"

// ClusterNow says which cluster an answer is about that was read of the cluster itself, and when.
type ClusterNow struct {
	Organization string `json:"organization"`
	Cluster      string `json:"cluster"`
	ClusterUID   string `json:"clusterUID"`
	// AsOf is when the reading began: all that is answered was so at some moment since then.
	AsOf time.Time `json:"asOf"`
	// NotRead are the resources that could not be read, or not in full.
	NotRead []ClusterNotRead `json:"notRead,omitempty"`
}

// ClusterNotRead is a resource of the Kubernetes API that could not be read, or not in full, and why.
type ClusterNotRead struct {
	Resource string `json:"resource"`
	Reason   string `json:"reason"`
}

// ClusterTopology is what belongs to what in a cluster, as a graph.
type ClusterTopology struct {
	ClusterNow

	// Namespaces are those that it is about; absent for all.
	Namespaces []string           `json:"namespaces,omitempty"`
	Objects    []TopologyObject   `json:"objects"`
	Relations  []TopologyRelation `json:"relations"`
	// Truncated says that there is more than an answer has place for; narrow it by namespace.
	Truncated bool `json:"truncated,omitempty"`
}

// TopologyObject is an object of a cluster.
type TopologyObject struct {
	// ID is what relations name it by, such as "Deployment.apps/default/web" or "Node/n1".
	ID        string `json:"id"`
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// State says how it is known: Present was listed; Missing is named by another object and not there; Referenced is named by another
	// one, and was not looked at.
	State string `json:"state" enum:"Present,Missing,Referenced"`
	// Phase is that of a pod or a PersistentVolumeClaim.
	Phase string `json:"phase,omitempty"`
}

// TopologyRelation is what an object has to do with another one, by their IDs.
type TopologyRelation struct {
	From string `json:"from"`
	// Type is Owns (an owner reference), Selects (a label selector), RoutesTo, Scales, RunsOn, Uses or BoundTo.
	Type string `json:"type" enum:"Owns,Selects,RoutesTo,Scales,RunsOn,Uses,BoundTo"`
	To   string `json:"to"`
	// Stale says that the owner reference names the UID of an earlier owner of that name.
	Stale bool `json:"stale,omitempty"`
}

// ClusterUsage is what the nodes of a cluster have, what pods ask of it, and what is used.
type ClusterUsage struct {
	ClusterNow

	Nodes []NodeUsage `json:"nodes"`
	// Total is of all these nodes together.
	Total UsageTotal `json:"total"`
	// Unscheduled are pods that have no node yet, and Elsewhere those whose node was not read.
	Unscheduled UsageSum `json:"unscheduled"`
	Elsewhere   UsageSum `json:"elsewhere"`
	// Unmeasured says why it is not known what is used; absent when metrics-server has measured it.
	Unmeasured string `json:"unmeasured,omitempty"`
}

// NodeUsage is what a node has, what pods ask of it, and what is used.
type NodeUsage struct {
	UsageSum

	Node string `json:"node"`
	// Capacity is what the node has, and Allocatable what of it is for pods.
	Capacity    InventoryAmounts `json:"capacity"`
	Allocatable InventoryAmounts `json:"allocatable"`
	// Used is absent where it was not measured.
	Used *UsageMeasured `json:"used,omitempty"`
}

// UsageTotal is what the nodes of a cluster have together, what pods ask of them, and what is used.
type UsageTotal struct {
	UsageSum

	Capacity    InventoryAmounts `json:"capacity"`
	Allocatable InventoryAmounts `json:"allocatable"`
	// Used is absent where it was not measured on each node.
	Used *UsageAmounts `json:"used,omitempty"`
}

// UsageSum is what pods that have not ended ask for, as the scheduler counts it.
type UsageSum struct {
	Pods     int          `json:"pods"`
	Requests UsageAmounts `json:"requests"`
	Limits   UsageAmounts `json:"limits"`
}

// UsageAmounts are resources.
type UsageAmounts struct {
	// MilliCPU is in thousandths of a processor, Memory in bytes.
	MilliCPU int64 `json:"milliCPU"`
	Memory   int64 `json:"memory"`
}

// UsageMeasured is what is used, on average over a window that ended at a time.
type UsageMeasured struct {
	UsageAmounts

	MeasuredAt    time.Time `json:"measuredAt"`
	WindowSeconds float64   `json:"windowSeconds"`
}
