// Package runner says how the components of a control plane (kube-apiserver,
// kube-controller-manager, kube-scheduler, etcd) are run: from a value that only
// describes. Package controlplane writes the description, an implementation of
// [Runner] runs it; neither knows the other.
//
// It hides nothing but the rules of the description ([Workload.Validate]).
// Implementations: process (children of this host that survive KQueen).
// Their contract is the suite in runnertest. Whoever describes or runs control
// planes may import it; it imports nothing of ours.
package runner

import (
	"context"
	"io/fs"
	"net/netip"
	"slices"
	"time"
)

// Runner runs workloads. All methods are idempotent, safe for concurrent use,
// and may be called again after a crash at any instruction.
type Runner interface {
	// Reserve makes the workload's directory and reserves a TCP port for each
	// name. The answer is durable and the same on every call, until Remove: it
	// also holds ports reserved under other names before. No port is handed out
	// to two workloads. Ports belong to the host, so the runner owns them.
	Reserve(ctx context.Context, id string, ports []string) (Place, error)

	// Apply makes the workload what w says and returns without waiting for
	// programs: changed files are written, missing components started, changed
	// ones restarted (SIGTERM, StopGrace, SIGKILL), those no longer listed
	// stopped. Files no longer listed stay. Watch Status for the outcome. A bad
	// description is an [*InvalidError] and changes nothing.
	Apply(ctx context.Context, w Workload) error

	// Status tells what runs now. An unknown id has no components.
	Status(ctx context.Context, id string) (Status, error)

	// Remove stops the workload (SIGTERM, at most grace, SIGKILL; 0 kills at
	// once), then deletes its directory and its ports. gone is true only when no
	// process and no file is left; an unknown id is gone. When ctx ends first
	// it returns false and the cause; the stopping goes on.
	Remove(ctx context.Context, id string, grace time.Duration) (gone bool, err error)

	// List names every workload that has a directory or a process, sorted. The
	// caller compares it with its records to find orphans.
	List(ctx context.Context) ([]string, error)
}

// Place is where a workload lives.
type Place struct {
	Dir  string         // absolute directory, mode 0700; programs run in it
	Addr netip.Addr     // address the programs should listen on
	Port map[string]int // reserved TCP ports by name
}

// Workload describes all that one control plane runs.
type Workload struct {
	ID         string          // UID of the control plane: lower case, digits, '-', '.', at most 63
	Files      map[string]File // by path relative to the workload's directory
	Components []Component
}

// File is the content of one file.
type File struct {
	Data []byte
	Mode fs.FileMode // permission bits; 0 means 0600
}

// Component describes one program.
type Component struct {
	Name string   // unique in the workload; same alphabet as an ID
	Path string   // absolute path of the program, also its argv[0]
	Args []string // argv[1:]
	Env  []string // NAME=value, on top of PATH and HOME

	// After names components that must be ready before this one starts. It
	// orders starts only: when one of them fails later, this one goes on.
	After []string
	// Isolated gives the program processes, mounts, a host name and IPC of its own: it is process 1
	// there. When it ends, whatever runs within it ends too, and its mounts are gone.
	Isolated bool
	// Within names an isolated component, in all of whose namespaces this one runs, those that it has
	// made itself (such as a network) included. It is also started after it.
	Within string
	// RestartOn names entries of Workload.Files whose content is part of this
	// component's identity: a change restarts it. Programs re-read others.
	RestartOn []string
	// Ports names reserved ports the program binds. They are looked at before
	// a start, so that a foreign listener is reported as [ReasonPortTaken].
	Ports []string
	// Heavy says that a start keeps a processor busy. A runner may let only a
	// few of them start at once; a restart after a crash does not wait.
	Heavy bool
	// Probe tells when it is ready; nil: running is ready.
	Probe *Probe
	// StopGrace is the time between SIGTERM and SIGKILL; 0 means 10 s.
	StopGrace time.Duration
}

// Predecessors are the components that must be ready before this one starts.
func (c Component) Predecessors() []string {
	if c.Within == "" {
		return c.After
	}
	return append(slices.Clone(c.After), c.Within)
}

// Probe is a GET whose answer 200 means ready. File names are relative to the
// workload's directory; they are read again when they may have changed.
type Probe struct {
	URL        string // http or https
	CAFile     string // trust for https; empty: the system's
	CertFile   string // client certificate, with KeyFile; optional
	KeyFile    string
	ServerName string // expected name in the server's certificate; empty: host of the URL
}

// State is where a component is in its life.
//
//	            +--------- Waiting <--(After not ready)--+
//	            v                                        |
//	Apply -> Starting --> Ready <--> NotReady         Backoff
//	            |           |            |               ^
//	            +-----------+------------+---- exit -----+
//
//	Adopted  --Apply--> Starting (or Stopping, when described otherwise)
//	Adopted  --exit---> Exited   (nobody has said yet whether to start it again)
//	any      --change, no longer listed, Remove--> Stopping --> Waiting/Starting or gone
type State string

// States of a component.
const (
	StateWaiting  State = "Waiting"  // for the components in After
	StateStarting State = "Starting" // runs, never ready yet
	StateReady    State = "Ready"
	StateNotReady State = "NotReady" // runs, was ready, three probes failed since
	StateBackoff  State = "Backoff"  // ended or could not start; next try at NextStart
	StateStopping State = "Stopping" // was told to end
	StateAdopted  State = "Adopted"  // found running from an earlier life, no Apply yet
	StateExited   State = "Exited"   // ended while Adopted
)

// Reasons why a component could not start.
const (
	ReasonPortTaken   = "PortTaken"   // another process listens on a reserved port
	ReasonStartFailed = "StartFailed" // the program could not be executed
)

// Status is what a workload does now.
type Status struct {
	Components []ComponentStatus // sorted by name
}

// Ready reports whether there are components and all are ready.
func (s Status) Ready() bool {
	for _, c := range s.Components {
		if c.State != StateReady {
			return false
		}
	}
	return len(s.Components) > 0
}

// Component returns the status of one component, or false.
func (s Status) Component(name string) (ComponentStatus, bool) {
	for _, c := range s.Components {
		if c.Name == name {
			return c, true
		}
	}
	return ComponentStatus{}, false
}

// ComponentStatus is what one component does now.
type ComponentStatus struct {
	Name      string
	State     State
	Reason    string    // one of the Reason constants, or empty
	Message   string    // for a person: what it waits for, what the probe said
	PID       int       // 0 when nothing runs
	StartedAt time.Time // of the running process
	Restarts  int       // starts after an end nobody asked for, since this runner was made
	LastExit  *Exit     // last end nobody asked for
	NextStart time.Time // when backing off
	Use       Use       // of the running process
}

// Exit tells how a program ended, or why it could not start.
type Exit struct {
	At     time.Time
	Code   int    // exit code; -1 when it ended by a signal, did not start, or nobody knows
	Signal string // such as "killed"; empty when none
	Error  string // why it could not be started; empty when it ran
	Log    string // last whole lines of its log, at most 2 KiB
}

// Use is what a process takes from the host.
type Use struct {
	AnonymousBytes uint64  // memory of its own that no other process shares
	ResidentBytes  uint64  // with file pages, which processes of one program share
	CPUSeconds     float64 // user and system, since it started
}
