package hostcheck

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadLimits: each limit is one that a kernel has, under this name.
func TestReadLimits(t *testing.T) {
	have := ReadLimits()
	for _, name := range []string{Instances, Watches, Processes, Threads, Files, "net.ipv4.ip_forward"} {
		if _, known := have[name]; !known {
			t.Errorf("%s is not read: %v", name, have)
		}
	}
}

// TestRead: a real host tells what it has, for a data directory that is there and for one that is to be, and keeps nothing of it.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	for _, data := range []string{dir, filepath.Join(dir, "not", "yet")} {
		f := Read(data)
		if f.MemoryTotal <= f.MemoryAvailable || f.MemoryAvailable <= 0 || f.OpenFiles <= 0 || f.Disk.Dir != dir || f.Disk.Free <= 0 || f.Disk.SyncError != "" || f.Disk.Sync <= 0 || f.GivenPorts.First <= 0 {
			t.Errorf("%s: %+v", data, f)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left in the folder: %v, %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := Read(file).Disk.Dir; got != dir {
		t.Errorf("looked at %s", got)
	}
}

// TestLookAt: a port on which a program listens is taken.
func TestLookAt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Port{Number: l.Addr().(*net.TCPAddr).Port}
	if got := p.LookAt("127.0.0.1"); !strings.Contains(got.Taken, "in use") {
		t.Errorf("taken: %q", got.Taken)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := p.LookAt("127.0.0.1"); got.Taken != "" {
		t.Errorf("taken: %q", got.Taken)
	}
}

// TestApply: the file is written and the values are set; one that cannot be set is named, and does not keep the others from it.
func TestApply(t *testing.T) {
	dir := t.TempDir()
	a := Applier{Settings: filepath.Join(dir, "sys"), File: filepath.Join(dir, "sysctl.d", "90.conf")}
	if text, err := a.Existing(); text != "" || err != nil {
		t.Errorf("before: %q, %v", text, err)
	}
	instances := sysctlPath(a.Settings, Instances)
	if err := errors.Join(os.MkdirAll(filepath.Dir(instances), 0o755), os.WriteFile(instances, []byte("128\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	plan := Plan{Content: "x = 1\n", Changes: []Change{{Processes, 1, 2}, {Instances, 128, 1024}}}
	if err := a.Apply(plan, os.WriteFile); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "set kernel.pid_max: ") {
		t.Errorf("got %v", err)
	}
	set, err := os.ReadFile(instances)
	text, existing := a.Existing()
	if err := errors.Join(err, existing); err != nil || string(set) != "1024" && string(set) != "1024\n" || text != plan.Content {
		t.Errorf("set %q, the file has %q, %v", set, text, err)
	}
}
