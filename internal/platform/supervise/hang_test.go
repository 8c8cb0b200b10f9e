package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/health"
)

func TestPatience(t *testing.T) {
	conf, err := Config{Dir: "/x"}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name          string
		stopped, disk bool
		share         float64
		want          time.Duration
	}{
		{name: "one that is stopped will not answer", stopped: true, want: 15 * time.Second},
		{name: "one that does nothing waits for nothing", want: time.Minute},
		{name: "the background work of a program is nothing", share: 0.01, want: time.Minute},
		{name: "one that works may be slow", share: 0.5, want: 5 * time.Minute},
		{name: "one that waits for a disk may be slow", disk: true, want: 5 * time.Minute},
	} {
		if got := conf.Timing.patience(c.stopped, c.disk, c.share); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// hasty is a configuration that gives up soon.
func hasty(t *testing.T) Config {
	conf := config(t.TempDir())
	conf.Timing.ProbeTimeout = 50 * time.Millisecond
	conf.Timing.HangStopped, conf.Timing.HangIdle, conf.Timing.HangBusy = 100*time.Millisecond, time.Hour, time.Hour
	conf.Timing.HangGrace = 100 * time.Millisecond
	return conf
}

func TestStoppedProgramIsRestarted(t *testing.T) {
	t.Parallel()
	r := open(t, hasty(t))
	apply(t, r, server(t, r, "a"))
	before := awaitState(t, r, "a", "api", health.Ready)
	if err := unix.Kill(before.PID, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c := untilRestarted(t, r, before)
	if c.Restarts != 1 || c.LastExit == nil || c.LastExit.Hung < 100*time.Millisecond || c.LastExit.Signal != "killed" {
		t.Errorf("want one restart after a hang, got %+v, %+v", c, c.LastExit)
	}
	if got := (health.Component{LastExit: c.LastExit}).Trouble(); !strings.HasPrefix(got, "hung, and was ended: its probe had no answer for ") {
		t.Errorf("the cause in words is %q", got)
	}
}

// A program that is blocked says where before it is ended.
func TestBlockedProgramIsRestarted(t *testing.T) {
	t.Parallel()
	conf := hasty(t)
	conf.Timing.HangIdle = 100 * time.Millisecond
	conf.Timing.HangGrace = time.Minute
	// Each probe is a TLS handshake of the program, which asked as often as in other tests would be at work with that.
	conf.Timing.ProbeReady = 2 * time.Second
	r := open(t, conf)
	apply(t, r, server(t, r, "a", "-hang", "blocked"))
	before := awaitState(t, r, "a", "api", health.Ready)
	blocked := filepath.Join(conf.Dir, "workloads", "a", "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, r, "a", func(s Status) bool {
		c, _ := s.Component("api")
		return c.Restarts > 0 || c.PID == 0
	})
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	c := untilRestarted(t, r, before)
	if c.LastExit == nil || c.LastExit.Hung == 0 {
		t.Errorf("want an end after a hang, got %+v", c.LastExit)
	}
	log, err := os.ReadFile(filepath.Join(conf.Dir, "workloads", "a", LogDir, "api.log"))
	if err != nil || !strings.Contains(string(log), "SIGQUIT") || !strings.Contains(string(log), "goroutine ") {
		t.Errorf("the log does not say what the program did: %v\n%s", err, log)
	}
}

// One that is only slow is left alone: it was not ready three times, and long silent, when that is looked at.
func TestSlowProgramIsLeftAlone(t *testing.T) {
	t.Parallel()
	conf := hasty(t)
	// The kernel says how long a thread has waited for a processor when it runs again: on a busy host not within milliseconds.
	conf.Timing.HangIdle = time.Second
	r := open(t, conf)
	apply(t, r, server(t, r, "a", "-hang", "slow", "-toil"))
	before := awaitState(t, r, "a", "api", health.Ready)
	slow := filepath.Join(conf.Dir, "workloads", "a", "slow")
	if err := os.WriteFile(slow, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitState(t, r, "a", "api", health.NotReady)
	<-time.After(2 * conf.Timing.HangIdle)
	if err := os.Remove(slow); err != nil {
		t.Fatal(err)
	}
	if c := awaitState(t, r, "a", "api", health.Ready); c.PID != before.PID || c.Restarts != 0 {
		t.Errorf("want the same process, got %+v", c)
	}
}
