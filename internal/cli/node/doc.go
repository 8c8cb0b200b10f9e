// Package node has the commands that make the machine on which they run a node of a cluster: join, leave, and the
// supervisor that keeps its programs running. It speaks to no installation. Only the root command enters it.
package node
