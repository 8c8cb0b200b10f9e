//go:build linux

package local

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/hosting/release/releasetest"
	"kqueen.io/kqueen/internal/workers/machine"
)

// TestShortages: what of a host is too low for how many machines, and what to set. A machine with users of its own has its
// own share of what is counted for each user.
func TestShortages(t *testing.T) {
	debian := readings{
		sysctlInstances: 128, sysctlWatches: 65536, sysctlProcesses: 4194304, sysctlThreads: 63000, sysctlFiles: 1 << 62,
		sysctlNeighbours: 1024, sysctlConntrack: 262144, sysctlUsers: 31500,
	}
	with := func(name string, n int64) readings {
		r := maps.Clone(debian)
		r[name] = n
		return r
	}
	const inotify = "(for each user; a machine is one); set it with: sysctl -w fs.inotify.max_user_instances="
	tests := map[string]struct {
		host  readings
		load  load
		want  []string
		vital bool
	}{
		"nothing runs":                  {with(sysctlUsers, 0), load{root: true}, nil, false},
		"one machine":                   {debian, load{root: true, machines: 1, unified: true}, nil, false},
		"many machines":                 {debian, load{root: true, machines: 15, unified: true, planes: 5}, nil, false},
		"neighbours":                    {debian, load{root: true, machines: 20}, []string{"net.ipv4.neigh.default.gc_thresh3 is 1024, and this host needs 1240 (for the neighbours in all networks of the host); set it with: sysctl -w net.ipv4.neigh.default.gc_thresh3=8192"}, false},
		"machines that are one user":    {debian, load{root: true, machines: 3, shared: 3}, []string{"fs.inotify.max_user_instances is 128, and this host needs 134 " + inotify + "1024"}, false},
		"many machines that are one":    {debian, load{root: true, machines: 14, shared: 14}, []string{"fs.inotify.max_user_instances is 128, and this host needs 552 " + inotify + "2048"}, true},
		"too few for programs of nodes": {with(sysctlInstances, 7), load{root: true, machines: 1}, []string{"fs.inotify.max_user_instances is 7, and this host needs 38 " + inotify + "1024"}, true},
		"control planes of one user":    {debian, load{planes: 10}, []string{"fs.inotify.max_user_instances is 128, and this host needs 150 " + inotify + "1024"}, true},
		"control planes with users":     {debian, load{root: true, planes: 50}, nil, false},
		"few processes":                 {with(sysctlProcesses, 32768), load{root: true, machines: 40, planes: 10}, []string{"kernel.pid_max is 32768, and this host needs 34400 (for all processes and threads of the host); set it with: sysctl -w kernel.pid_max=131072", "net.ipv4.neigh.default.gc_thresh3 is 1024, and this host needs 2480 (for the neighbours in all networks of the host); set it with: sysctl -w net.ipv4.neigh.default.gc_thresh3=16384"}, false},
		"no users for machines":         {with(sysctlUsers, 0), load{root: true, machines: 1}, []string{"user.max_user_namespaces is 0, and this host needs 1 (so that machines have users of their own); set it with: sysctl -w user.max_user_namespaces=1024"}, false},
		"a host that says nothing":      {nil, load{root: true, machines: 99}, nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			found := tc.host.shortages(tc.load)
			if diff := cmp.Diff(tc.want, wordsOf(found)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := vital(found); (err != nil) != tc.vital || err != nil && !errors.Is(err, machine.ErrCapacity) {
				t.Errorf("another machine is refused with %v, want %t", err, tc.vital)
			}
		})
	}
}

// TestReadLimits: each limit is one that a kernel has, under this name.
func TestReadLimits(t *testing.T) {
	have := readLimits()
	for _, name := range []string{sysctlInstances, sysctlWatches, sysctlProcesses, sysctlThreads, sysctlFiles} {
		if have[name] == 0 {
			t.Errorf("%s is not read: %v", name, have)
		}
	}
}

// TestTooLowForAnother: a machine that could not become a node is not made, and says what to set; those that are there go on, and
// one of them that does not run says it, too.
func TestTooLowForAnother(t *testing.T) {
	store := releasetest.Built(t, "v1.36.3")
	p := provider(t, store)
	p.limits = func() readings { return readings{sysctlInstances: 7} }
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
