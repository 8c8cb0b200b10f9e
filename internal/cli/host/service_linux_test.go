package host

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

var update = flag.Bool("update", false, "write deploy/kqueen.service")

// TestUnitIsDeployed: the file for those who install KQueen by hand is the one that "kqueen up --systemd" begins with.
func TestUnitIsDeployed(t *testing.T) {
	const file = "../../../deploy/kqueen.service"
	if *update {
		if err := os.WriteFile(file, []byte(unitTemplate), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != unitTemplate {
		t.Errorf("deploy/kqueen.service is another one (%v); write it with: go test ./internal/cli/host -run TestUnitIsDeployed -update", err)
	}
}

// TestUnit: the unit starts this program on this data directory, whatever is in their names.
func TestUnit(t *testing.T) {
	for name, tc := range map[string]struct{ program, dir, releases, want string }{
		"usual":    {"/usr/local/bin/kqueen", "/var/lib/kqueen", "", "\nExecStart=/usr/local/bin/kqueen up --foreground --data-dir=/var/lib/kqueen\n"},
		"releases": {"/k", "/d", "/srv/r", "\nEnvironment=KQUEEN_RELEASES=/srv/r\nExecStart=/k up --foreground --data-dir=/d\n"},
		"hostile":  {`/o p/"k"`, "/d/100%$HOME", "/r s", `"KQUEEN_RELEASES=/r s"` + "\n" + `ExecStart="/o p/\"k\"" up --foreground --data-dir=/d/100%%$$HOME` + "\n"},
	} {
		if got := unit(tc.program, tc.dir, tc.releases); !strings.Contains(got, tc.want) {
			t.Errorf("%s: the unit is\n%s", name, got)
		}
	}
	for _, want := range []string{"\nRestart=on-failure\n", "\nKillMode=process\n", "\nType=notify\n", "\nWatchdogSec=3min\n", "\nWantedBy=multi-user.target\n"} {
		if !strings.Contains(unitTemplate, want) {
			t.Errorf("the unit has no %q", want)
		}
	}
}

// TestUnitIsValid has systemd read the unit.
func TestUnitIsValid(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		if testing.Short() {
			t.Skip("-short does without systemd where it is not installed")
		}
		t.Fatalf("%v: run hack/packages systemd", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), unitName)
	if err := os.WriteFile(file, []byte(unit(program, "/var/lib/k queen", "/r")), 0o600); err != nil {
		t.Fatal(err)
	}
	// Units of the host that it depends on are none of this test.
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", "--recursive-errors=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), unitName) {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}

// fakeSystemd is one whose systemctl notes what it is called with, and fails where that has the word.
func fakeSystemd(t *testing.T, fails string) (systemd, func() string) {
	t.Helper()
	dir := t.TempDir()
	s := systemd{booted: filepath.Join(dir, "run"), units: filepath.Join(dir, "units"), control: filepath.Join(dir, "systemctl")}
	script := "#!/bin/sh\necho \"$@\" >>" + dir + "/calls\ncase \"$*\" in *" + fails + "*) echo no such thing >&2; exit 5;; esac\n"
	if err := errors.Join(os.Mkdir(s.booted, 0o755), os.Mkdir(s.units, 0o755), os.WriteFile(s.control, []byte(script), 0o755)); err != nil {
		t.Fatal(err)
	}
	return s, func() string {
		calls, _ := os.ReadFile(filepath.Join(dir, "calls"))
		return string(calls)
	}
}

// TestMoveToSystemd: the unit is written before systemd is told of it, and one that is not ours is left alone.
func TestMoveToSystemd(t *testing.T) {
	var said bytes.Buffer
	e := connection.New(nil, &said, &said)
	dir := t.TempDir() // in which nothing runs
	s, calls := fakeSystemd(t, "never")
	for range 2 { // the same again changes nothing
		if err := moveToSystemd(t.Context(), e, dir, s); err != nil {
			t.Fatal(err)
		}
	}
	if want := strings.Repeat("daemon-reload\nenable kqueen.service\nrestart kqueen.service\n", 2); calls() != want {
		t.Errorf("systemctl was called with\n%s", calls())
	}
	if ours, err := s.has(dir); err != nil || !ours || !strings.Contains(said.String(), "systemctl disable --now kqueen.service") {
		t.Errorf("the unit is ours: %t, %v; said:\n%s", ours, err, said.String())
	}
	said.Reset()
	tellOfUnit(e, dir, s)
	if !strings.Contains(said.String(), "systemctl disable kqueen.service") {
		t.Errorf("after a reset: %q", said.String())
	}
	if err := moveToSystemd(t.Context(), e, t.TempDir(), s); exit.CodeOf(err) != exit.Failed || !strings.Contains(err.Error(), "is there, and not for") {
		t.Errorf("for another data directory: %v", err)
	}
	failing, _ := fakeSystemd(t, "enable")
	if err := moveToSystemd(t.Context(), e, dir, failing); err == nil || !strings.Contains(err.Error(), "no such thing; see: journalctl -u kqueen.service") {
		t.Errorf("a systemctl that fails: %v", err)
	}
}

// TestNoSystemd: without systemd nothing is begun, and its user is told what starts KQueen again.
func TestNoSystemd(t *testing.T) {
	want := "systemd does not run on this host"
	if os.Geteuid() != 0 {
		want = "by root alone"
	}
	s := systemd{booted: filepath.Join(t.TempDir(), "none")}
	if err := s.able(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}
