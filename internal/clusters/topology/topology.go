// Package topology reads what belongs to what in one cluster, as it is now, and makes a graph of it: owner references, the selectors of
// Services, NetworkPolicies and PodDisruptionBudgets, and what Ingresses, HTTPRoutes, HorizontalPodAutoscalers, pods and volume claims name.
//
// [Build] is pure: what was listed becomes a graph, within [Caps]. [Read] lists, metadata alone where that is enough. Nothing is kept, and
// neither Secrets nor ConfigMaps are read: they are known by the names that pods have for them. Package server/fleet imports it.
package topology

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"kqueen.io/kqueen/internal/clusters/listing"
)

// Ref names an object. Group is empty for the core group, Namespace for objects that are in none.
type Ref struct{ Group, Kind, Namespace, Name string }

// ID is the Ref as one text, as "Deployment.apps/default/web" or "Node/n1".
func (r Ref) ID() string {
	id := r.Kind
	if r.Group != "" {
		id += "." + r.Group
	}
	if r.Namespace != "" {
		id += "/" + r.Namespace
	}
	return id + "/" + r.Name
}

// groupKind is the kind with its group.
func (r Ref) groupKind() string { return r.Kind + "." + r.Group }

// Relation says what an object has to do with another one.
type Relation string

// The relations, each from the first object to the second.
const (
	// Owns is by an owner reference of the second one.
	Owns Relation = "Owns"
	// Selects is by a label selector of the first one.
	Selects Relation = "Selects"
	// RoutesTo is from an Ingress, an HTTPRoute or a Gateway to what it sends requests to.
	RoutesTo Relation = "RoutesTo"
	// Scales is from a HorizontalPodAutoscaler to its target.
	Scales Relation = "Scales"
	// RunsOn is from a pod to its node.
	RunsOn Relation = "RunsOn"
	// Uses is from a pod or an Ingress to a claim, a ConfigMap or a Secret that it names.
	Uses Relation = "Uses"
	// BoundTo is from a PersistentVolumeClaim to its PersistentVolume.
	BoundTo Relation = "BoundTo"
)

// State says how an object of the graph is known.
type State string

// The states.
const (
	// Present was listed.
	Present State = "Present"
	// Missing is named by another object, and not among those of its kind.
	Missing State = "Missing"
	// Referenced is named by another object; whether it exists was not looked at.
	Referenced State = "Referenced"
)

// Object is what matters of an object that was listed.
type Object struct {
	Ref

	UID string
	// Phase is that of a pod or a claim.
	Phase string
	// Labels are those of a pod.
	Labels  labels.Set
	Owners  []Owner
	Targets []Target
	// Selector selects pods in the namespace of the object; nil for none.
	Selector labels.Selector
	// Cut says that it names more than is looked at.
	Cut bool
}

// Owner is an owner reference: its namespace is that of the dependent, where the kind has namespaces.
type Owner struct {
	Group, Kind, Name, UID string
}

// Target is an object that another one names.
type Target struct {
	Ref

	// As is the relation. Where Reverse is true, it is from the target to the object.
	As      Relation
	Reverse bool
}

// Listed is what was read of a cluster.
type Listed struct {
	Objects []Object
	// Whole has the kinds of which all objects are there, as "Kind.group".
	Whole map[string]bool
	// Namespaces are those that were looked at; none stands for all.
	Namespaces []string
	// NotRead are the kinds that could not be read, or not in full.
	NotRead []listing.NotRead
}

// Node is an object of the graph.
type Node struct {
	Ref

	State State
	Phase string
}

// Edge is a relation of two objects, by their IDs.
type Edge struct {
	From, To string
	As       Relation
	// Stale says that the owner reference names another UID: the owner was replaced by one of the same name.
	Stale bool
}

// Graph is what belongs to what.
type Graph struct {
	// Nodes are sorted by their IDs, and Edges by both ends.
	Nodes []Node
	Edges []Edge
	// Truncated says that there is more than the caps allow.
	Truncated bool
	NotRead   []listing.NotRead
}

// Caps are what a graph has at most, and what it costs to build one. The zero value of a field is the default.
type Caps struct {
	// Nodes and Edges: 20,000 and 40,000.
	Nodes, Edges int
	// Text is how many bytes all names of an answer have together: 8 MiB.
	Text int
	// Work is how many requirements of selectors are compared with pods: 10 million.
	Work int
	// Kept is how many bytes are kept of what is listed: 32 MiB.
	Kept int64
}

func (c Caps) withDefaults() Caps {
	set := func(n *int, to int) {
		if *n == 0 {
			*n = to
		}
	}
	set(&c.Nodes, 20_000)
	set(&c.Edges, 40_000)
	set(&c.Text, 8<<20)
	set(&c.Work, 10_000_000)
	if c.Kept == 0 {
		c.Kept = 32 << 20
	}
	return c
}

// clusterScoped are kinds of objects in no namespace that own or are named. Others are taken to be in the namespace of what names them.
func clusterScoped(group, kind string) bool {
	return group == "" && (kind == "Node" || kind == "PersistentVolume" || kind == "Namespace")
}

// groupOf is the group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
