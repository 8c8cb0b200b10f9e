package supervise

import (
	"errors"
	"log/slog"
	"net/netip"
	"path/filepath"
	"runtime"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// ErrClosed is returned by a supervisor after Close.
var ErrClosed = errors.New("supervisor is closed")

// Config says how a supervisor works. Only Dir is required.
type Config struct {
	Dir    string          // where everything lives; made when missing
	Listen netip.Addr      // where programs listen and ports are tried; zero: 127.0.0.1
	Ports  PortRange       // zero: DefaultPorts
	Notify func(id string) // called after a component's state changed; must not block; may be nil
	Log    *slog.Logger    // nil: silent
	Timing Timing          // zero fields get their defaults
	Rotate Rotation        // zero fields get their defaults
	// StartsAtOnce is how many heavy components may start at the same time; default one for each processor.
	StartsAtOnce int
	// Busy is the share of the host's processor time that has to be used before workloads give way to others; default a half.
	Busy float64

	// Tests replace these: they are not to slow down each other, and a busy host is not to change what they see.
	putSelf func(background bool) error
	starves func(before, now seen) bool
}

// PortRange is the first and the last TCP port that may be reserved.
type PortRange struct{ First, Last uint16 }

// DefaultPorts are below those that the kernel gives away by itself (from 32768).
func DefaultPorts() PortRange { return PortRange{First: 20000, Last: 29999} }

// Rotation bounds the logs of one component to about (Keep+1) * Limit bytes.
type Rotation struct {
	Limit int64         // bytes above which a log is rotated; default 10 MiB
	Keep  int           // old logs kept; default 3
	Every time.Duration // how often the size is looked at; default 10 s
}

// Timing holds the supervisor's durations. Tests make them small.
type Timing struct {
	ProbeStarting time.Duration // between probes while starting; default 50 ms, on the critical path of a new cluster
	FastStart     time.Duration // after that long a start is probed at ProbeSlow; default 30 s
	ProbeSlow     time.Duration // between probes of a start that takes longer; default 1 s
	ProbeReady    time.Duration // between probes once ready; default 5 s
	ProbeTimeout  time.Duration // of one probe; default 5 s
	BackoffFirst  time.Duration // before the second restart (the first is immediate); default 1 s
	BackoffMax    time.Duration // upper bound of the doubling; default 60 s
	BackoffReset  time.Duration // ready for that long forgets earlier failures; default 60 s
	StopGrace     time.Duration // for components that name none; default 10 s
	HangStopped   time.Duration // without an answer ends a process that is stopped (SIGSTOP); default 15 s
	HangIdle      time.Duration // without an answer ends a process that does nothing; default 60 s
	HangBusy      time.Duration // without an answer ends a process that works, or waits for a disk; default 5 min
	HangGrace     time.Duration // between SIGQUIT and SIGKILL for a process that hangs; default 3 s
	LockWait      time.Duration // how long New waits for a dying predecessor; default 2 s
	Balance       time.Duration // between two looks at what workloads use of the processors, longer where there are many; default 100 ms
}

const (
	probeFailures = 3       // failures in a row that make Ready into NotReady
	logTail       = 2 << 10 // bytes of log shown with an exit
)

func (c Config) withDefaults() (Config, error) {
	if c.Dir == "" {
		return c, invalid.New("dir", "is empty; want a directory")
	}
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return c, err
	}
	c.Dir = dir
	if !c.Listen.IsValid() {
		c.Listen = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	if c.Ports == (PortRange{}) {
		c.Ports = DefaultPorts()
	}
	if c.Ports.First == 0 || c.Ports.Last < c.Ports.First {
		return c, invalid.New("ports", "is no range; want 0 < first <= last")
	}
	if c.StartsAtOnce <= 0 {
		c.StartsAtOnce = runtime.NumCPU()
	}
	if c.Busy <= 0 {
		c.Busy = 0.5
	}
	if c.Notify == nil {
		c.Notify = func(string) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	t := &c.Timing
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.ProbeStarting, 50 * time.Millisecond},
		{&t.FastStart, 30 * time.Second},
		{&t.ProbeSlow, time.Second},
		{&t.ProbeReady, 5 * time.Second},
		{&t.ProbeTimeout, 5 * time.Second},
		{&t.BackoffFirst, time.Second},
		{&t.BackoffMax, time.Minute},
		{&t.BackoffReset, time.Minute},
		{&t.StopGrace, 10 * time.Second},
		{&t.HangStopped, 15 * time.Second},
		{&t.HangIdle, time.Minute},
		{&t.HangBusy, 5 * time.Minute},
		{&t.HangGrace, 3 * time.Second},
		{&t.LockWait, 2 * time.Second},
		{&t.Balance, 100 * time.Millisecond},
		{&c.Rotate.Every, 10 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	if c.Rotate.Limit <= 0 {
		c.Rotate.Limit = 10 << 20
	}
	if c.Rotate.Keep <= 0 {
		c.Rotate.Keep = 3
	}
	return c, nil
}
