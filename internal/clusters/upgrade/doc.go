// Package upgrade is the reconciler of Upgrade: it brings a cluster whose control plane KQueen hosts to another version of Kubernetes,
// step by step, where its users can see it.
//
//	releases, pools, versions ──► Plan (pure) ──► steps: preflight, backup, control plane by minor, node pools one by one
//	what is in the cluster ──► Read ──► Check (pure) ──► findings that block or warn
//
// It hides which way through the minors there is, what stands against it, and how pools that follow their cluster are held back until it
// is their turn. What the cluster says is not trusted: it is read within bounds, and shown in one line. A kill at any moment leaves
// nothing that the next run does not find: each step is known to have begun before it changes anything.
//
// Package app calls Setup, and package server/fleet asks what an upgrade would be.
package upgrade
