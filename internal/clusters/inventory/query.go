package inventory

import "time"

// Scope says which organizations a question is about. It is where access is checked: a query reads no row outside of it, also
// where it counts, groups or compares. The zero value sees nothing.
type Scope struct {
	// All says that it is every organization; Organizations are those when it is not.
	All           bool
	Organizations []string
}

// Filter says which observations are wanted. Empty fields take all; several values of one field are alternatives.
type Filter struct {
	Scope Scope
	// At is the time as of which it is asked; the zero time is now.
	At time.Time
	// Organizations and Clusters are names, within the scope.
	Organizations, Clusters []string
	// ClusterLabels have to be those of the cluster.
	ClusterLabels map[string]string
	Namespaces    []string

	// Repository, with "*" for any text, Tag and Digests are of images. Text is what the reference has somewhere.
	Repository, Tag, Text string
	Digests               []string
	// Components are names, such as "kubelet". Version is a constraint as SemVer libraries have it, such as "<1.34".
	Components []string
	Version    string
	// Severities are of findings.
	Severities []Severity

	// Limit is at most how many rows a page has; Cursor is what the page before ended with, with the same other fields.
	Limit  int
	Cursor string
}

// Page is a part of an answer, in a stable order.
type Page[T any] struct {
	Rows []T
	// Next is the cursor of the next page; empty on the last.
	Next string
	// AsOf is until when what is answered is known, for each cluster that the filter takes, oldest first. A cluster that cannot be
	// reached stays with what was seen last.
	AsOf []ClusterState
}

// ClusterState is how well a cluster is known.
type ClusterState struct {
	Cluster
	// Since is the first observation, and AsOf the time until which its rows are known to be so.
	Since, AsOf time.Time
	// Live says that it is being watched now; Message says why not.
	Live    bool
	Message string
	// Ended is when it left the fleet; zero while it has not.
	Ended time.Time
}

// Place is where a row was seen.
type Place struct {
	Organization, Cluster, ClusterUID string
	// Since and Until are when it was so; Until is zero while it is, and Since may be when a gap in watching ended.
	Since, Until time.Time
}

// ImageRow is an image over all clusters that the filter takes.
type ImageRow struct {
	Image                Image
	Clusters, Containers int
	// First and Last are when it was first and last seen in those clusters, whatever At is. Last is zero while it runs.
	First, Last time.Time
}

// ContainerRow is a container.
type ContainerRow struct {
	Place
	Key       Key
	Container Container
}

// BinaryRow is a version of a component over all clusters that the filter takes.
type BinaryRow struct {
	Component, Version string
	Managed            bool
	// Nodes is how many run it, 0 for what does not run on nodes.
	Clusters, Nodes int
	First, Last     time.Time
}

// ItemRow is anything else that is observed.
type ItemRow struct {
	Place
	Item Item
}

// Change is what appeared or vanished between two times.
type Change[T any] struct {
	// Appeared says that it was there at the end and not at the begin; else it was there at the begin and not at the end.
	Appeared bool
	Row      T
}
