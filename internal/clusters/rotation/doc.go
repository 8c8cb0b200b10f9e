// Package rotation replaces credentials of clusters whose control planes KQueen hosts: the certificate authority, and the key of service
// accounts' tokens.
//
//	Rotation ──► spec.rotation of the ControlPlane: Trust ─► Sign ─► (spec.finish) ─► Serve ─► Remove
//	                 its reconciler keeps the keys, and says in status.rotation which step all components have taken
//	             status.trustHash of Machines says which of them follow
//
// A rotation keeps no key. Who else changes a control plane goes on beside it. It hides the order of the steps, and what has to follow each
// of them before the next one may be taken.
package rotation
