// Package runner is what the components of control planes (kube-apiserver, kube-controller-manager, kube-scheduler) are
// run by: a value that only describes them, and the face of what runs them. Package controlplane writes the
// description, an implementation of [Runner] runs it; neither knows the other. The description names programs, files
// and ports and says nothing of where they are, so that a runner may make processes of it, or pods, or parts of one
// process.
//
// It hides the rules of the description ([Workload.Validate]) and how references in it are written ([Expand]).
// Implementations: process (processes of this host that survive KQueen). Their contract is the suite in runnertest.
// What describes or runs control planes may import it.
package runner

import (
	"context"
	"net/netip"
	"time"

	"kqueen.io/kqueen/internal/platform/health"
)

// Runner runs workloads. All methods are idempotent, safe for concurrent use, and may be called again after a crash at
// any instruction.
type Runner interface {
	// Reserve says where the ports of a workload are reached, which may be asked before anything runs there. The answer
	// is durable and the same on every call, until Remove. No two workloads are given the same endpoint.
	Reserve(ctx context.Context, id string, ports []Port) (Place, error)

	// Apply makes the workload what w says and returns without waiting for programs: files are handed over, missing
	// components started, changed ones restarted, those no longer listed stopped. Watch Status for the outcome. A bad
	// description is an [*invalid.Error] and changes nothing.
	Apply(ctx context.Context, w Workload) error

	// Status tells what runs now. An unknown id has no components.
	Status(ctx context.Context, id string) (health.Status, error)

	// Remove stops the workload, its programs at most grace after they were asked to end (0: at once), and forgets its
	// files and ports. gone is true only when nothing is left; an unknown id is gone. When ctx ends first it returns
	// false and the cause; the stopping goes on.
	Remove(ctx context.Context, id string, grace time.Duration) (gone bool, err error)
}

// Place is where ports are reached, by name.
type Place map[string]Endpoint

// Endpoint is where one port is reached.
type Endpoint struct {
	// Inside is where KQueen itself reaches it.
	Inside netip.AddrPort
	// Outside is where callers on other hosts reach it. An unspecified address means every address of KQueen's host. It
	// is zero for a port that is not public.
	Outside netip.AddrPort
}
