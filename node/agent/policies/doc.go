// Package policies enforces the NetworkPolicies of a cluster for the pods of one node.
package policies
