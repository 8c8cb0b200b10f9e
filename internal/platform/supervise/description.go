package supervise

import (
	"io/fs"
	"net/netip"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/confine"
)

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

	// Subject is what it is to users; empty for what they know by the ID.
	Subject Subject
	// Confined takes from the programs what they do not need: see package confine. They run under a user of the
	// workload's own, read its files, which then lie in its directory itself, and write nothing but Component.Writes. Where
	// the host does not let us do that they run as KQueen does; Status.Confinement says so.
	Confined bool
	// Reach are the addresses to which the programs of a confined workload may open connections, beside the workload's own
	// ports on this host; nil: all. A change takes effect at once and restarts none.
	Reach []netip.AddrPort
	// Limits are for all programs of the workload together, where the host lets us set them. Those of a confined workload are in a group of
	// their own also without any. A change takes effect at once and restarts none.
	Limits confine.Limits
	// Management says that the programs are there for KQueen alone, see [Supervisor.Background].
	Management bool `json:",omitempty"`
	// Score says which programs the kernel ends first when memory runs out: one of confine's. It takes effect at once.
	Score int
}

// File is the content of one file.
type File struct {
	Data []byte
	Mode fs.FileMode // permission bits; 0 means 0600

	group int // that may read it, too; 0: only its owner
}

// Component describes one program.
type Component struct {
	Name string // unique in the workload; same alphabet as an ID
	Path string // absolute path of the program, also its argv[0]
	// Build says what the program is, wherever it lies: it runs on when the file moves, and is restarted when another build takes
	// its place. Empty: the path says it.
	Build string `json:",omitempty"`
	// Moves says the same of files that Args name by their paths: what lies there counts, and not where.
	Moves map[string]string `json:",omitempty"`
	Args  []string          // argv[1:]
	Env   []string          // NAME=value, on top of PATH and HOME

	// After names components that must be ready before this one starts. It orders starts only: when one of them fails
	// later, this one goes on.
	After []string
	// Within names a component that starts this one, in namespaces of its own: it answers at its StartSocket by the time
	// that it is ready. This one's files, its folder ("/") and its paths are those of that place. What the other starts
	// ends with it.
	Within string
	// RestartOn names entries of Workload.Files whose content is part of this component's identity: a change restarts
	// it. Programs re-read others.
	RestartOn []string
	// Ports names reserved ports the program binds. They are looked at before a start, so that a foreign listener is
	// reported as [ReasonPortTaken].
	Ports []string
	// Writes names folders in which a confined program writes: those of the host with absolute paths, those of the workload's
	// directory relative to it. They are made, and with all that is in them given to its user, before each start.
	Writes []string `json:",omitempty"`
	// Heavy says that a start keeps a processor busy. A supervisor may let only a few of them start at once; a restart
	// after a crash does not wait.
	Heavy bool
	// LatencySensitive is for programs for which calls of users wait: they come to a processor sooner than others ([confine.ShortenSlices]).
	LatencySensitive bool `json:",omitempty"`
	// Probe tells when it is ready; nil: running is ready.
	Probe *Probe
	// StopGrace is the time between SIGTERM and SIGKILL; 0 means 10 s.
	StopGrace time.Duration
	// HandsOver, when it is not 0, says that another process can take this one's place while it runs: one with another identity is
	// started beside it and gets its ports from it (package handover), and when that one is ready this one is told to leave. It
	// then has so long to end by itself.
	HandsOver time.Duration `json:",omitempty"`
	// Hands says then what is handed over: the address at which it listens. Two of which one listens at another address may want the
	// same port, which the old one would keep until the new one is ready, and that never is: the old one is ended first.
	Hands string `json:",omitempty"`
	// TakesIn is a folder relative to the workload's directory where something else may offer that address before the process begins, such as
	// a gateway that holds it while nothing of the workload runs. The port does not count as taken then.
	TakesIn string `json:",omitempty"`
}

// handsOver is what a process carries itself of that.
func (c Component) handsOver() handing {
	if c.HandsOver == 0 {
		return handing{}
	}
	return handing{leaves: c.HandsOver, probe: c.Probe.URL, hands: c.Hands}
}

// Predecessors are the components that must be ready before this one starts.
func (c Component) Predecessors() []string {
	if c.Within == "" {
		return c.After
	}
	return append(slices.Clone(c.After), c.Within)
}

// Probe is a GET whose answer 200 means ready. File names are relative to the workload's directory; they are read again
// when they may have changed.
type Probe struct {
	URL        string // http or https
	CAFile     string // trust for https; empty: the system's
	CertFile   string // client certificate, with KeyFile; optional
	KeyFile    string
	ServerName string // expected name in the server's certificate; empty: host of the URL
	// Socket, when set, is a unix socket as the program sees it. The URL is then a method of gRPC, called there without an
	// argument: any answer means ready. A program that does not offer the method counts as one that does not answer: a
	// restart alone can help.
	Socket string `json:",omitempty"`
}
