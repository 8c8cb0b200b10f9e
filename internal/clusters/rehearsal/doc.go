// Package rehearsal is the reconciler of Rehearsal: it tries an upgrade in a copy of what a cluster stores.
//
//	keyspace of the cluster ──► copy, of one revision ──► ControlPlane with an API server alone ──► each version on the way:
//	    each stored object is read and written again; what the version cannot do is a finding
//
// It hides how stored objects are told from another without knowing their types, and which answers of an API server are findings. The
// cluster is only read: once by its store, and by the webhooks of its own that convert custom resources, because an API server over a
// copy calls nothing. What is stored is not trusted: it is read within bounds, and shown in one line. The copy goes when the rehearsal
// has ended or is deleted, whatever has happened.
//
// Package app calls Setup.
package rehearsal
