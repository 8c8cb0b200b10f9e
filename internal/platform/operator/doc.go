// Package operator is KQueen's kit for reconcilers: a reconciler is a list of
// phases, each of which owns one condition and answers with one typed outcome.
//
//	            ┌──────────── Ensure, first to last, until one is not Done ───────────┐
//	fetch ──► finalizer ──► phase ──► phase ──► phase ──► summarize (pure) ──► ONE status patch ──► events
//	            └─(deleted)─ Remove, last to first, until one is not Done ─┘      └─► finalizer goes when all are Done
//
// The kit hides fetching, the finalizer, the rules of kstatus (Ready,
// Reconciling, Stalled, observedGeneration), the single status patch, events
// from changed conditions, and the time of the next retry. A phase only looks at
// the world, moves it one step, and says how that went; it never writes status.
//
// A phase must be idempotent and must not block for long: the process may be
// killed at any instruction and the same phase is then run again from scratch.
// Package operatortest runs a reconciler with a failure and a crash at every
// single call that it makes.
//
// Reconcilers (cluster, controlplane, …) import it, and package app for their Setup.
package operator
