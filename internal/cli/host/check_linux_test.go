package host

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/hostcheck"
)

// able is a host on which a cluster and a node get ready.
func able() hostcheck.Facts {
	return hostcheck.Facts{
		Sysctls: hostcheck.Readings{hostcheck.Instances: 128}, Root: true, Controllers: []string{"cpu", "cpuset", "memory", "pids"}, PacketFilter: "nftables",
		OpenFiles: 1 << 20, MemoryTotal: 8 << 30, MemoryAvailable: 8 << 30, Disk: hostcheck.Disk{Dir: "/d", Free: 1 << 40, Sync: time.Millisecond},
		Now: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
	}
}

// TestJudgeHost: KQueen does not start where it cannot work, and says before it starts what will be missing.
func TestJudgeHost(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*hostcheck.Facts)
		warning string
		refusal string
	}{
		"able":              {func(*hostcheck.Facts) {}, "", ""},
		"taken ports":       {func(f *hostcheck.Facts) { f.Ports = []hostcheck.Port{{Fixed: true, Taken: "in use"}} }, "", ""},
		"a small disk":      {func(f *hostcheck.Facts) { f.Disk.Free = 1 << 20 }, "", ""},
		"few for nodes":     {func(f *hostcheck.Facts) { f.Sysctls[hostcheck.Instances] = 32 }, "fs.inotify.max_user_instances: 32, needed: 38 for each user", ""},
		"few for a cluster": {func(f *hostcheck.Facts) { f.Sysctls[hostcheck.Instances] = 9 }, "", "KQueen cannot work on this host:\n  fs.inotify.max_user_instances: 9, needed: 38 "},
		"none, not root":    {func(f *hostcheck.Facts) { f.Root, f.Sysctls[hostcheck.Instances] = false, 20 }, "", "KQueen cannot work on this host:\n  fs.inotify.max_user_instances: 20, needed: 48 "},
		"no disk":           {func(f *hostcheck.Facts) { f.Disk.SyncError = "input/output error" }, "", "input/output error"},
	} {
		f := able()
		tc.change(&f)
		warnings, refusal := judgeHost(f)
		if got := strings.Join(warnings, "\n"); !strings.HasPrefix(got, tc.warning) || tc.warning == "" && got != "" {
			t.Errorf("%s: warned of %q, want %q", name, got, tc.warning)
		}
		if (refusal == nil) != (tc.refusal == "") || refusal != nil && (!strings.Contains(refusal.Error(), tc.refusal) || exit.CodeOf(refusal) != exit.Failed) {
			t.Errorf("%s: refused with %v, want %q", name, refusal, tc.refusal)
		}
	}
}

// TestUnsaid: what the user was told before KQueen started is not told again after it.
func TestUnsaid(t *testing.T) {
	got := unsaid([]string{"kernel.pid_max is 9, and this host needs 10", "fs.file-max is 1, and so on"}, []string{"kernel.pid_max: 9, needed: 10"})
	if diff := cmp.Diff([]string{"fs.file-max is 1, and so on"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestFixHost: what is too low is written when the user agrees, and by root alone; what takes it back is said.
func TestFixHost(t *testing.T) {
	f := able()
	f.Sysctls[hostcheck.Instances] = 32
	for name, tc := range map[string]struct {
		facts   func(*hostcheck.Facts)
		yes     bool
		want    string // of the error
		said    []string
		written bool
	}{
		"agreed":         {func(*hostcheck.Facts) {}, true, "", []string{"changes from 32 to 1024", "rm /etc/sysctl.d/90-kqueen.conf", "sysctl -w fs.inotify.max_user_instances=32"}, true},
		"not asked":      {func(*hostcheck.Facts) {}, false, "use --yes to write the file", []string{"changes from 32 to 1024"}, false},
		"not root":       {func(f *hostcheck.Facts) { f.Root = false }, true, "run: sudo kqueen check --fix", nil, false},
		"nothing is low": {func(f *hostcheck.Facts) { f.Sysctls = able().Sysctls }, true, "", []string{"no setting of the kernel is too low for 1 cluster and 1 node"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			host := hostcheck.Applier{Settings: filepath.Join(dir, "sys"), File: filepath.Join(dir, "90-kqueen.conf")}
			setting := filepath.Join(host.Settings, "fs", "inotify", "max_user_instances")
			if err := os.MkdirAll(filepath.Dir(setting), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(setting, []byte("32"), 0o600); err != nil {
				t.Fatal(err)
			}
			facts := f
			tc.facts(&facts)
			var said bytes.Buffer
			e := connection.New(strings.NewReader("y\n"), &bytes.Buffer{}, &said)
			err := fixHost(&cobra.Command{Use: "check"}, e, checkFlags{size: hostcheck.Size{Clusters: 1, Nodes: 1}, yes: tc.yes}, facts, host)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			for _, want := range tc.said {
				if !strings.Contains(said.String(), want) {
					t.Errorf("said nothing of %q:\n%s", want, said.String())
				}
			}
			text, err := os.ReadFile(setting)
			if _, missing := os.Stat(host.File); err != nil || (string(text) == "1024") != tc.written || (missing == nil) != tc.written {
				t.Errorf("set to %q, the file: %v, want it written: %t", text, missing, tc.written)
			}
		})
	}
}

// TestPrintChecks: all checks are printed, and of those that failed what to do; they decide about the exit code.
func TestPrintChecks(t *testing.T) {
	f := able()
	f.Sysctls[hostcheck.Instances] = 32
	for format, want := range map[string]string{
		"table": "failed    32 ",
		"json":  `"sysctl": "fs.inotify.max_user_instances",`,
		"yaml":  "    sysctl: fs.inotify.max_user_instances\n",
	} {
		var out, said bytes.Buffer
		e := connection.New(strings.NewReader(""), &out, &said)
		size := hostcheck.Size{Clusters: 1, Nodes: 1}
		err := printChecks(e, checkFlags{size: size, output: format}, hostcheck.All(f, size))
		if exit.CodeOf(err) != exit.Failed || err == nil || !strings.HasSuffix(err.Error(), "checks failed for 1 cluster and 1 node") {
			t.Errorf("%s: got %v", format, err)
		}
		if !strings.Contains(out.String(), want) || strings.Contains(said.String(), "kqueen check --fix") != (format == "table") {
			t.Errorf("%s: printed\n%s\nand said\n%s", format, out.String(), said.String())
		}
	}
	var out bytes.Buffer
	if err := printChecks(connection.New(nil, &out, &out), checkFlags{output: "table"}, hostcheck.All(able(), hostcheck.Size{Clusters: 1})); err != nil {
		t.Errorf("a host that is able: %v", err)
	}
}
