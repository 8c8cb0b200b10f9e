// Package controlplane is the verb behind ControlPlane, and behind the two
// nouns it stands on, DataStore and Release: it gives each control plane keys,
// a keyspace, running components and a name at the gateway, and takes all of
// them away again.
//
// What the components are is said once, by the pure function Describe; a runner
// only runs what it says. The embedded admin plane is described by the same
// function. The place that wires the program enters by New, NewDataStores and
// NewReleases, and package standalone by Describe.
package controlplane
