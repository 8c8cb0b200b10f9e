package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/server/status"
)

// run gives a command on a machine with this data directory, and returns data, words and the error.
func run(t *testing.T, dir string, args ...string) (data, words string, err error) {
	t.Helper()
	t.Setenv(connection.DataDirVariable, dir)
	t.Setenv(connection.ConfigVariable, filepath.Join(t.TempDir(), "none.yaml"))
	var out, said bytes.Buffer
	e := connection.New(strings.NewReader("reset\n"), &out, &said)
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(Commands(e)...)
	root.SetArgs(args)
	err = root.ExecuteContext(t.Context())
	return out.String(), said.String(), err
}

// TestUpRefuses: a flag that cannot be right is named, and nothing is made in the data directory.
func TestUpRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ flag, want string }{
		"Name":             {"--listen=localhost", `--listen: "localhost" is not an IP address; write one such as 127.0.0.1 or 0.0.0.0`},
		"HostPort":         {"--listen=127.0.0.1:6443", "--listen: "},
		"HighPort":         {"--gateway-port=70000", "--gateway-port: 70000 is not between 1 and 65535"},
		"HighIngress":      {"--ingress-port=70000", "--ingress-port: 70000 is not between 1 and 65535"},
		"LowPort":          {"--api-port=-1", "--api-port: -1 is not between 1 and 65535"},
		"HostBits":         {"--machine-network=10.1.2.3/16", `--machine-network: "10.1.2.3/16" is not an IPv4 network of /8 to /24 with no host bits set; write one such as 10.223.0.0/16`},
		"IPv6":             {"--machine-network=fd00::/16", "--machine-network: "},
		"TooSmall":         {"--machine-network=10.1.2.0/25", "--machine-network: "},
		"TooLarge":         {"--machine-network=0.0.0.0/7", "--machine-network: "},
		"NoNetwork":        {"--machine-network=10.1.2.0", "--machine-network: "},
		"NoDestination":    {"--egress-allow=hooks.example.com:443", `--egress-allow: "hooks.example.com:443" has neither an address nor a range; write an address or a range and a port, such as 192.0.2.7:443`},
		"ClosedToAll":      {"--egress-allow=192.0.2.7:443,127.0.0.0/8:443", "--egress-allow: 127.0.0.0/8:443 cannot be allowed: it overlaps 127.0.0.0/8, the loopback addresses"},
		"OwnBackupsOften":  {"--installation-backup-every=1s", `--installation-backup-every: "1s" is neither none nor a time of at least 10m0s`},
		"OwnBackupsNoTime": {"--installation-backup-every=daily", `"daily" is neither none nor a time`},
		"OwnBackupsMany":   {"--installation-backups-kept=101", "--installation-backups-kept: 101 is not between 1 and 100"},
		"UnknownImages":    {"--images=mine", `--images: "mine" has to be `},
		"Argument":         {"now", `takes no argument, but there is "now"`},
	} {
		for _, where := range []string{"--foreground", "--foreground=false"} {
			t.Run(name+where, func(t *testing.T) {
				dir := filepath.Join(t.TempDir(), "data")
				_, _, err := run(t, dir, "up", tc.flag, where)
				if err == nil || exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v with code %d, want %q", err, exit.CodeOf(err), tc.want)
				}
				if _, err := os.Stat(dir); !os.IsNotExist(err) {
					t.Errorf("the data directory was made: %v", err)
				}
			})
		}
	}
}

// TestUpConfig: what was not said is left open, for what was said last time.
func TestUpConfig(t *testing.T) {
	t.Setenv(databaseVariable, "postgres://db")
	same := []cmp.Option{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.IgnoreFields(app.Config{}, "Engine", "Program", "Version", "Releases")}
	for name, tc := range map[string]struct {
		flags upFlags
		want  app.Config
	}{
		"nothing": {upFlags{}, app.Config{Dir: "/d", Database: "postgres://db"}},
		"all": {
			upFlags{listen: "0.0.0.0", gatewayPort: 7443, ingressPort: 7080, apiPort: 65535, domain: "k.example", machineNetwork: "10.0.0.0/8", images: "upstream", egressAllow: []string{"192.0.2.0/24:443", "[2001:db8::7]:443"}},
			app.Config{
				Dir: "/d", Database: "postgres://db", Listen: netip.IPv4Unspecified(), GatewayPort: 7443, IngressPort: 7080, APIPort: 65535, Domain: "k.example",
				MachineNetwork: netip.MustParsePrefix("10.0.0.0/8"), Images: "upstream",
				EgressAllowed: []egress.Destination{{Range: netip.MustParsePrefix("192.0.2.0/24"), Port: 443}, {Range: netip.MustParsePrefix("2001:db8::7/128"), Port: 443}},
			},
		},
		"nothing allowed": {upFlags{egressAllow: []string{"none"}}, app.Config{Dir: "/d", Database: "postgres://db", EgressAllowed: []egress.Destination{}}},
	} {
		got, err := tc.flags.config("/d")
		if diff := cmp.Diff(tc.want, got, same...); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// TestResetRefuses: without a terminal to ask on nothing is deleted unless the user insists, and where nothing is, that is
// said.
func TestResetRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, command := range []string{"reset", "down"} {
		if _, _, err := run(t, dir, command); err == nil || exit.CodeOf(err) != exit.Failed || !strings.Contains(err.Error(), "KQueen is not set up in "+dir) {
			t.Errorf("%s: got %v, want that nothing is set up", command, err)
		}
	}
	settings := filepath.Join(dir, "settings.json")
	if err := os.WriteFile(settings, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, words, err := run(t, dir, "reset")
	if err == nil || exit.CodeOf(err) != exit.Usage || !strings.Contains(err.Error(), "this deletes every cluster in "+dir+"; use --yes") || words != "" {
		t.Errorf("got %v and %q, want that --yes is to be said", err, words)
	}
	if _, err := os.Stat(settings); err != nil {
		t.Errorf("something was deleted: %v", err)
	}
	if _, _, err := run(t, dir, "reset", "--context", "other", "--yes"); exit.CodeOf(err) != exit.Usage {
		t.Errorf("got %v, want that it is about this machine alone", err)
	}
	if _, err := os.Stat(settings); err != nil {
		t.Errorf("what was meant for another machine was done here: %v", err)
	}
}

// TestHereWithDamagedContexts: what is about this machine alone can be done whatever the file of contexts is like.
func TestHereWithDamagedContexts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte("contexts: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Setenv(connection.ConfigVariable, file)
	t.Setenv(connection.DataDirVariable, "")
	t.Setenv(connection.ServerVariable, "")
	t.Setenv("XDG_DATA_HOME", dir)
	e := connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	e.SystemData = filepath.Join(dir, "kqueen")
	root := &cobra.Command{Use: "kqueen", SilenceErrors: true, SilenceUsage: true}
	e.Flags.Register(root)
	root.AddCommand(Commands(e)...)
	root.SetArgs([]string{"status"})
	if err := root.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "KQueen is not running in "+filepath.Join(dir, "kqueen")) {
		t.Errorf("got %v, want that nothing runs here", err)
	}
}

// TestPrintStatus prints for users and for programs, and hides from a terminal what a workload is called.
func TestPrintStatus(t *testing.T) {
	s := statusHere{&status.Status{
		PID: 7, Version: "v1", StartedAt: time.Now().Add(-time.Hour), DataDir: "/d", Gateway: "127.0.0.1:6443", Ingress: "127.0.0.1:7443", API: "https://127.0.0.1:8443", MemoryBytes: 64 << 20,
		Ready: false, Problems: []string{"kqueen.db cannot be used\x1b[2J"},
		Workloads: []status.WorkloadStatus{{Name: "org-blue/demo\x1b[2J", Components: []status.ComponentStatus{{Name: "etcd", State: "Ready", PID: 9, Restarts: 1, MemoryBytes: 32 << 20, CPUSeconds: 1.25}}}},
		Warnings:  []string{"kernel.pid_max is 9"},
	}, "sha256:ab", 8, &daemon.Crash{Time: time.Date(2026, 11, 23, 6, 0, 38, 0, time.UTC), How: "signal: killed, after 3s", Log: "/d/logs/stderr-1.log"}}
	printed := func(format string) (string, error) {
		var out bytes.Buffer
		err := printStatus(&out, &cobra.Command{Use: "status"}, format, s)
		return out.String(), err
	}
	table, err := printed("table")
	if err != nil || !strings.Contains(table, "KQueen v1   pid 7   up 60m   64 MiB\n") || !strings.Contains(table, "sha256:ab\nrestarted after a crash by its keeper (pid 8)\nlast crash 2026-11-23T06:00:38Z, signal: killed, after 3s; see /d/logs/stderr-1.log\nnot everything is ready\nPROBLEM: kqueen.db cannot be used[2J\n\n") || !strings.Contains(table, "org-blue/demo[2J") || strings.Contains(table, "\x1b") ||
		!strings.HasSuffix(table, "\n\nwarning: kernel.pid_max is 9\n") {
		t.Errorf("%v, printed\n%s", err, table)
	}
	text, err := printed("json")
	var read struct {
		PID            int
		APIFingerprint string
		Workloads      []struct {
			Components []struct{ CPUSeconds float64 }
		}
	}
	if decoded := json.Unmarshal([]byte(text), &read); err != nil || decoded != nil || read.PID != 7 || read.APIFingerprint != "sha256:ab" || read.Workloads[0].Components[0].CPUSeconds != 1.25 {
		t.Errorf("%v, %v, printed %s", err, decoded, text)
	}
	if text, err := printed("yaml"); err != nil || !strings.Contains(text, "\napiFingerprint: sha256:ab\n") && !strings.HasPrefix(text, "apiFingerprint: sha256:ab\n") {
		t.Errorf("%v, printed %s", err, text)
	}
	if text, err := printed("wide"); exit.CodeOf(err) != exit.Usage || text != "" {
		t.Errorf("got %v and %q, want that there is no such format", err, text)
	}
}

// TestStatusByCluster: what runs is grouped by the cluster that it is of, with totals.
func TestStatusByCluster(t *testing.T) {
	program := func(name, state string, mebibytes uint64) status.ComponentStatus {
		return status.ComponentStatus{Name: name, State: state, PID: 7, MemoryBytes: mebibytes << 20, CPUSeconds: 1.5}
	}
	var out bytes.Buffer
	err := printWorkloads(&out, []status.WorkloadStatus{
		{Name: "org-blue/demo", Cluster: "blue/demo", Node: true, Components: []status.ComponentStatus{program("kubelet", "Starting", 40)}},
		{Name: "org-blue/demo", Cluster: "blue/demo", Components: []status.ComponentStatus{program("kube-apiserver", "Ready", 200), program("kube-scheduler", "Ready", 20)}},
		{Name: "etcd", Own: true, Components: []status.ComponentStatus{program("etcd", "Ready", 30)}},
		{Name: "org-blue/b", Cluster: "blue/b", Components: []status.ComponentStatus{program("kube-apiserver", "Ready", 190)}},
	})
	want := `CLUSTER     WORKLOAD        COMPONENT        STATE       PID   RESTARTS   MEMORY    CPU
kqueen      etcd            etcd             Ready       7     0          30 MiB    1.5s
kqueen      total           1 program        Ready       -     0          30 MiB    1.5s
blue/b      control-plane   kube-apiserver   Ready       7     0          190 MiB   1.5s
blue/b      total           1 program        Ready       -     0          190 MiB   1.5s
blue/demo   control-plane   kube-apiserver   Ready       7     0          200 MiB   1.5s
blue/demo   control-plane   kube-scheduler   Ready       7     0          20 MiB    1.5s
blue/demo   demo            kubelet          Starting    7     0          40 MiB    1.5s
blue/demo   total           3 programs       2/3 Ready   -     0          260 MiB   4.5s

2 clusters, 5 programs, 480 MiB, 7.5s CPU
`
	if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// TestExplainLocked: who finds the data directory in use is told which command says by what.
func TestExplainLocked(t *testing.T) {
	locked := fmt.Errorf("start: %w", &supervise.LockedError{Dir: "/d d/run", PID: 7})
	if err := explainLocked(locked, "/d d"); exit.CodeOf(err) != exit.Failed || !strings.Contains(err.Error(), "(pid 7)") || !strings.HasSuffix(err.Error(), "see: kqueen status --data-dir '/d d'") {
		t.Errorf("got %v", err)
	}
	full := errors.New("no space left")
	if err := explainLocked(full, "/d"); !errors.Is(err, full) || err.Error() != "no space left" {
		t.Errorf("got %v, want the error as it is", err)
	}
}
