//go:build linux

package local

import (
	"errors"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

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
