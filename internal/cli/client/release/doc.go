// Package release has the commands that show which versions of Kubernetes an installation offers. How they are built
// is in cli/host. Only the root command enters it.
package release
