// Package cluster has the commands about clusters and the control planes that KQueen hosts for them. Only the root
// command enters it.
package cluster
