// Package autoscaler sets how many machines the pools with spec.autoscaling of a cluster have: more when pods wait for a node, fewer when
// a node is not needed.
//
//	pools and machines, nodes and pods of the cluster, the time ──► Plan (pure) ──► which pool grows, which machine goes, and why
//
// All decisions are in the pure part: simulation.go holds nodes, those on their way among them, and places pods on them by what the scheduler
// goes by (fit.go, topology.go); up.go makes pools larger in it, and down.go says which node could go. What is on its way counts by
// spec.replicas, which is read without a cache and changed under its version: pods that were answered once are not answered again.
//
// What the cluster says is not trusted: it is read within bounds of time, bytes and objects, and at worst makes a pool as large as its
// maxReplicas. A cluster that cannot be asked changes nothing. The package knows nothing of how machines are made or drained: it writes
// spec.replicas of a NodePool and marks the machine that goes first, as a user would.
//
// Package app calls Setup, and Read with a client of the cluster.
package autoscaler
