// Package clusteraccess gets the credentials with which the user, kubectl or a command itself enters a cluster, and
// keeps them in files that only the user can read. It refuses kubeconfigs that would start programs or read files
// here.
package clusteraccess
