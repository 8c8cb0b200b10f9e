// Package hostcheck says whether a host carries so many clusters and nodes, and what to change where it does not. What the
// host is like is read once, as [Facts]; every decision is a pure function of those and of a [Load].
//
// It hides which limits of the kernel bind, and what the programs of control planes and nodes take of each. Every package
// may import it; it imports none and changes nothing on the host.
package hostcheck
