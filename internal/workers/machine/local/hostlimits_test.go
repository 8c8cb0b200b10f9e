//go:build linux

package local

import (
	"errors"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/hosting/release/releasetest"
	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/workers/machine"
)

// TestVital: only what keeps a machine from becoming a node refuses it.
func TestVital(t *testing.T) {
	for name, tc := range map[string]struct {
		host hostcheck.Readings
		want bool
	}{
		"enough":                        {hostcheck.Readings{hostcheck.Instances: 128}, false},
		"fewer than programs need":      {hostcheck.Readings{hostcheck.Instances: 7}, true},
		"fewer than pods need":          {hostcheck.Readings{hostcheck.Instances: 32}, false},
		"fewer than networks may need":  {hostcheck.Readings{hostcheck.Neighbours: 1}, false},
		"a host that does not say much": {nil, false},
	} {
		err := vital(tc.host.Shortages(hostcheck.Load{Root: true, Machines: 1}))
		if (err != nil) != tc.want || err != nil && !errors.Is(err, machine.ErrCapacity) {
			t.Errorf("%s: another machine is refused with %v, want %t", name, err, tc.want)
		}
	}
}

// TestTooLowForAnother: a machine that could not become a node is not made, and says what to set; those that are there go on, and
// one of them that does not run says it, too.
func TestTooLowForAnother(t *testing.T) {
	store := releasetest.Built(t, "v1.36.3")
	p := provider(t, store)
	p.limits = func() hostcheck.Readings { return hostcheck.Readings{hostcheck.Instances: 7} }
	const set = "set it with: sysctl -w fs.inotify.max_user_instances=1024"
	if _, err := p.recordOf(t.Context(), wanted()); !errors.Is(err, machine.ErrCapacity) || !strings.Contains(err.Error(), set) {
		t.Errorf("another machine: %v", err)
	}
	if kept, err := p.List(t.Context()); err != nil || len(kept) > 0 {
		t.Errorf("kept are %v, %v", kept, err)
	}
	p.records["m1"] = record{Cluster: "c1", Program: "/bin/sh", Isolation: machine.IsolationUserNamespace}
	if _, err := p.recordOf(t.Context(), wanted()); err != nil {
		t.Errorf("one that is there: %v", err)
	}
	if got := p.explain(machine.Observed{State: machine.Creating, Message: "waiting for kubelet"}).Message; !strings.HasPrefix(got, "waiting for kubelet; ") || !strings.HasSuffix(got, set) {
		t.Errorf("one that waits says %q", got)
	}
	if got := p.explain(machine.Observed{State: machine.Running, Message: "runs"}).Message; got != "runs" {
		t.Errorf("one that runs says %q", got)
	}
	if got := p.Shortages(1); len(got) != 1 || !strings.HasSuffix(got[0], set) {
		t.Errorf("the owner is told %q", got)
	}
}
