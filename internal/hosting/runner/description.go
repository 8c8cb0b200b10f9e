package runner

import (
	"net/netip"
	"time"
)

// Workload describes all that one control plane runs.
type Workload struct {
	ID         string          // UID of the control plane
	Name       string          // what users know it by, such as org-default/demo; empty for its ID
	Cluster    string          // ORGANIZATION/NAME of the cluster that it is of; empty for none
	Files      map[string]File // by name; see [FileRef]
	Ports      []Port
	Components []Component

	// Unprivileged says that the programs need nothing of where they run but the network, the workload's files and, to
	// write, the folders of Component.Writes. The runner takes everything else from them as far as it can, keeps their
	// files from the programs of other workloads, and holds them to the limits of their Resources, together or each.
	Unprivileged bool
	// Reaches are the addresses to which the programs open connections beside the workload's own ports; nil for any.
	// Through what they find in their working directory they may reach others.
	Reaches []netip.AddrPort
	// Essential is for what KQueen or other workloads depend on. When memory runs out, those that are not go first.
	Essential bool
}

// File is content that is handed to all components of the workload. The runner decides where they find it.
type File struct {
	Data []byte
	// Secret is for content that only the workload's own programs may read, such as keys.
	Secret bool
	// Template is for content with references in it, which the runner resolves; that of other files is left as it is.
	Template bool
}

// Port is a TCP port on which one component listens. The runner chooses its number.
type Port struct {
	Name string
	// Public is for a port on which callers outside the workload depend. The others are for the components of the
	// workload and for probes alone.
	Public bool
}

// Program is what a component runs: a program on a disk, an image, or code that is linked in.
type Program struct {
	Name    string // such as kube-apiserver
	Version string // such as v1.36.3
}

// Component describes one program. Args may hold references ([FileRef] and the others). All components find each other
// on the network under the addresses of [LocalRef], and start in a working directory that they share.
type Component struct {
	Name    string // unique in the workload
	Program Program
	Args    []string
	Env     []string // NAME=value, on top of what the runner sets

	// After names components that must be ready before this one starts. It orders starts only: when one of them fails
	// later, this one goes on.
	After []string
	// RestartOn names files whose content is part of this component's identity: a change restarts it. Programs re-read
	// others.
	RestartOn []string
	// Alone is for a program of which two must never run at once, not even while a new one takes over.
	Alone bool
	// HandOver says how another process can take this one's place without a gap; nil where none can. Where the runner or the program
	// knows no such thing, this one is ended first.
	HandOver *HandOver
	// Heavy says that a start keeps a processor busy. A runner may let only a few of them start at once; a restart
	// after a crash does not wait.
	Heavy bool
	// LatencySensitive is for programs for which calls of users wait. A runner that can has them come to a processor sooner than others,
	// for a shorter time at once.
	LatencySensitive bool
	// Ports names the ports on which the program listens.
	Ports []string
	// Writes names folders in which the program writes: those of the host with absolute paths, those of its working
	// directory relative to it. The runner makes them, and what it does not run any more goes with the latter.
	Writes []string
	// Probe tells when it is ready; nil: running is ready.
	Probe *Probe
	// Resources is what the program is expected to take, and at most takes.
	Resources Resources
	// StopGrace is the time between asking the program to end and killing it; 0 means 10 s.
	StopGrace time.Duration
}

// HandOver is how a process gives a port to the one that takes its place, which is started beside it. That one accepts connections from when
// it is ready; then this one is told to leave (package handover).
type HandOver struct {
	Port string // name of the port that is handed over
	// Args are added to those of the component. They tell the program the folder in which a port is handed over ([HandoverRef]) and
	// the address at which it alone listens ([OwnRef]), where its probe is answered.
	Args []string
	// Within is how long it may go on with the connections that it has, after another one has taken its place.
	Within time.Duration
}

// Probe is a GET whose answer 200 means ready.
type Probe struct {
	Port string // name
	Path string // such as /readyz
	TLS  *TLS   // nil: plain http
}

// TLS names the files with which a probe connects. They are read again when they may have changed. A runner that cannot
// present a certificate or check that of the server probes without.
type TLS struct {
	CA        string // authority of the server's certificate
	Cert, Key string // client certificate, both or none
}

// Resources are amounts of processors and memory.
type Resources struct {
	Requests Amounts // what is set aside
	Limits   Amounts // what is never exceeded
}

// Amounts of 0 are not said.
type Amounts struct {
	MilliCPU int64 // thousandths of a processor
	Memory   int64 // bytes
}
