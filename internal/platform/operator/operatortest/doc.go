// Package operatortest runs a reconciler with a failure and a crash at every
// single call that it makes, and looks at what it says about itself.
//
//	dry run           call 0 ── call 1 ── call 2 ── … ── call N          -> the wanted end state
//	every call,       call 0 ── call 1 ──╳                               the fault
//	every fault:                         └─ (made anew after a crash) ── -> must be the same end state
//
// A crash is a panic that only the kit knows: whatever the reconciler holds in
// memory is thrown away, and the World makes a new one. What a World keeps
// outside of its Reconciler function is the outside world and survives.
//
// It hides how calls are counted and broken. Only tests may import it, from
// every floor.
package operatortest
