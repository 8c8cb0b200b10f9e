// Package controlplane is the reconciler of ControlPlanes, and of the two
// kinds they stand on, DataStore and Release: it gives each control plane keys,
// a keyspace, running components and a name at the gateway, and takes all of
// them away again.
//
// What the components are is said once, by the pure function Describe; a runner
// only runs what it says. The embedded admin plane is described by the same
// function. The place that wires the program enters by Setup, and package
// standalone by Describe.
package controlplane
