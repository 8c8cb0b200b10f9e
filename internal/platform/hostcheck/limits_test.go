package hostcheck

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// debian is a host as it comes.
func debian() Readings {
	return Readings{
		Instances: 128, Watches: 65536, Processes: 4194304, Threads: 63000, Files: 1 << 62, Neighbours: 1024, Conntrack: 262144, Users: 31500,
	}
}

func with(name string, n int64) Readings {
	r := maps.Clone(debian())
	r[name] = n
	return r
}

// TestShortages: what of a host is too low for how many machines, and what to set. A machine with users of its own has its
// own share of what is counted for each user.
func TestShortages(t *testing.T) {
	const inotify = "(for each user; a machine is one); set it with: sysctl -w fs.inotify.max_user_instances="
	tests := map[string]struct {
		host  Readings
		load  Load
		want  []string
		vital bool
	}{
		"nothing runs":                  {with(Users, 0), Load{Root: true}, nil, false},
		"one machine":                   {debian(), Load{Root: true, Machines: 1, Unified: true}, nil, false},
		"many machines":                 {debian(), Load{Root: true, Machines: 15, Unified: true, Planes: 5}, nil, false},
		"neighbours":                    {debian(), Load{Root: true, Machines: 20}, []string{"net.ipv4.neigh.default.gc_thresh3 is 1024, and this host needs 1240 (for the neighbours in all networks of the host); set it with: sysctl -w net.ipv4.neigh.default.gc_thresh3=8192"}, false},
		"machines that are one user":    {debian(), Load{Root: true, Machines: 3, Shared: 3}, []string{"fs.inotify.max_user_instances is 128, and this host needs 134 " + inotify + "1024"}, false},
		"many machines that are one":    {debian(), Load{Root: true, Machines: 14, Shared: 14}, []string{"fs.inotify.max_user_instances is 128, and this host needs 552 " + inotify + "2048"}, true},
		"too few for programs of nodes": {with(Instances, 7), Load{Root: true, Machines: 1}, []string{"fs.inotify.max_user_instances is 7, and this host needs 38 " + inotify + "1024"}, true},
		"control planes of one user":    {debian(), Load{Planes: 10}, []string{"fs.inotify.max_user_instances is 128, and this host needs 160 " + inotify + "1024"}, true},
		"control planes with users":     {debian(), Load{Root: true, Planes: 50}, nil, false},
		"few processes":                 {with(Processes, 32768), Load{Root: true, Machines: 40, Planes: 10}, []string{"kernel.pid_max is 32768, and this host needs 34400 (for all processes and threads of the host); set it with: sysctl -w kernel.pid_max=131072", "net.ipv4.neigh.default.gc_thresh3 is 1024, and this host needs 2480 (for the neighbours in all networks of the host); set it with: sysctl -w net.ipv4.neigh.default.gc_thresh3=16384"}, false},
		"no users for machines":         {with(Users, 0), Load{Root: true, Machines: 1}, []string{"user.max_user_namespaces is 0, and this host needs 1 (so that machines have users of their own); set it with: sysctl -w user.max_user_namespaces=1024"}, false},
		"a host that says nothing":      {nil, Load{Root: true, Machines: 99}, nil, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var words []string
			vital := false
			for _, s := range tc.host.Shortages(tc.load) {
				words, vital = append(words, s.String()), vital || s.Vital
			}
			if diff := cmp.Diff(tc.want, words); diff != "" || vital != tc.vital {
				t.Errorf("vital %t, want %t (-want +got):\n%s", vital, tc.vital, diff)
			}
		})
	}
}
