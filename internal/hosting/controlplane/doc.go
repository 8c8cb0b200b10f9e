// Package controlplane holds the reconcilers of ControlPlane, and of the two
// kinds that it refers to, DataStore and Release: it gives each control plane keys,
// a keyspace, running components and a name at the gateway, and takes all of
// them away again.
//
// What the components are is said once, by the pure function Describe; a runner
// only runs what it says. The embedded admin plane is described by the same
// function. Package app calls Setup, and package standalone calls Describe.
package controlplane
