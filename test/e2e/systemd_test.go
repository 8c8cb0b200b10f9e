//go:build linux

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// unitProgram is the line of the unit that those change who install it by hand.
const unitProgram = "ExecStart=/usr/local/bin/kqueen up --foreground"

// underSystemd runs KQueen by the unit in deploy/, by a systemd of the test's own: it starts it, starts it again when it is killed, and
// leaves alone what was asked to end. What KQueen runs goes on.
func underSystemd(t *testing.T, i *installation) {
	s := newSystemd(t, i)
	programs := i.running(func(process) bool { return true })
	for _, pid := range i.keepers() { // which takes the server with it
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "KQueen has ended", func(context.Context) error {
		if left := append(i.keepers(), i.servers()...); len(left) > 0 {
			return fmt.Errorf("%v run", left)
		}
		return nil
	})
	s.ok("start", "kqueen.service") // until KQueen has said that it is ready
	first := i.status()
	if !first.Ready || first.RestartedBy != "systemd" || first.Keeper != 0 {
		t.Errorf("by systemd: %+v", first)
	}
	kill(t, first.PID)
	eventually(t, "systemd has started KQueen again", func(context.Context) error {
		if state := s.ok("show", "--property=ActiveState,NRestarts", "--value", "kqueen.service"); state != "active\n1" && state != "1\nactive" {
			return errors.New(state)
		}
		return nil
	})
	second := i.status()
	if second.PID == first.PID || second.LastCrash == nil || !strings.Contains(second.LastCrash.How, "journalctl") {
		t.Errorf("started again: process %d after %d, the last crash is %v", second.PID, first.PID, second.LastCrash)
	}
	if err := syscall.Kill(second.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "KQueen is not started again", func(context.Context) error {
		if state := s.ok("show", "--property=ActiveState", "--value", "kqueen.service"); state != "inactive" {
			return errors.New(state)
		}
		return nil
	})
	i.up()
	if got := i.running(func(process) bool { return true }); strings.Join(got, "\n") != strings.Join(programs, "\n") {
		t.Errorf("running are\n%s\nand were\n%s", strings.Join(got, "\n"), strings.Join(programs, "\n"))
	}
}

// userSystemd is a systemd that has no units but those of the test.
type userSystemd struct {
	t   *testing.T
	env []string
}

// newSystemd starts one, with the unit of the installation.
func newSystemd(t *testing.T, i *installation) *userSystemd {
	t.Helper()
	const program = "/lib/systemd/systemd"
	if os.Geteuid() != 0 {
		t.Skip("only root makes a cgroup, and has a host look as if systemd had booted it")
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v: run hack/packages systemd", err)
	}
	looksBooted(t)
	dir, err := os.MkdirTemp("", "kqsd") //nolint:usetesting // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	unit, err := os.ReadFile("../../deploy/kqueen.service")
	if err != nil || !strings.Contains(string(unit), unitProgram+"\n") {
		t.Fatalf("deploy/kqueen.service has no %q: %v", unitProgram, err)
	}
	start := fmt.Sprintf("Environment=KQUEEN_RELEASES=%s HOME=%s\nExecStart=%s up --foreground --data-dir=%s", i.releases, i.base, i.program, i.dir)
	for name, text := range map[string]string{
		"kqueen.service": strings.Replace(string(unit), unitProgram, start, 1),
		"basic.target":   "[Unit]\n", "shutdown.target": "[Unit]\nDefaultDependencies=no\n", "exit.target": "[Unit]\nDefaultDependencies=no\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := &userSystemd{t: t, env: append(os.Environ(), "XDG_RUNTIME_DIR="+dir, "SYSTEMD_UNIT_PATH="+dir, "HOME="+dir, "DBUS_SESSION_BUS_ADDRESS=unix:path="+dir+"/none")}
	manager := exec.Command("/bin/sh", "-c", `echo $$ >"$0/cgroup.procs" && exec "$@"`, ownCgroup(t), program, "--user", "--unit=basic.target")
	manager.Env = s.env
	manager.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := manager.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = manager.Wait()
	}()
	t.Cleanup(func() {
		_ = manager.Process.Kill() // what it has started is the installation's
		<-ended
	})
	eventually(t, "systemd runs", func(context.Context) error {
		select {
		case <-ended:
			t.Fatalf("systemd has ended: %v", manager.ProcessState)
		default:
		}
		_, err := s.run("show-environment")
		return err
	})
	return s
}

// looksBooted makes the folder by which sd_booted(3) tells that systemd has booted a host, where it is missing: without it a systemd for a
// user refuses to run.
func looksBooted(t *testing.T) {
	t.Helper()
	const folder = "/run/systemd/system"
	if _, err := os.Stat(folder); err == nil {
		return
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(folder); err != nil {
			t.Errorf("left behind: %v", err)
		}
		_ = os.Remove(filepath.Dir(folder)) // where nothing else is in it
	})
}

// ownCgroup makes a cgroup for a systemd, which takes all processes of the one that it is in for its own.
func ownCgroup(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	top := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(fields) < 3:
		case fields[1] == "name=systemd": // version 1
			top = "/sys/fs/cgroup/systemd" + fields[2]
		case fields[1] == "" && top == "":
			top = "/sys/fs/cgroup" + fields[2]
		}
	}
	dir := filepath.Join(top, fmt.Sprintf("kqe2e-systemd-%d", os.Getpid()))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("a systemd needs a cgroup of its own: %v", err)
	}
	t.Cleanup(func() {
		var all []string
		_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				all = append(all, path)
			}
			return nil
		})
		for _, path := range slices.Backward(all) {
			if err := os.Remove(path); err != nil {
				t.Logf("left behind: %v", err)
			}
		}
	})
	return dir
}

// run calls systemctl.
func (s *userSystemd) run(args ...string) (string, error) {
	cmd := exec.Command("systemctl", append([]string{"--user"}, args...)...)
	cmd.Env = s.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("systemctl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func (s *userSystemd) ok(args ...string) string {
	s.t.Helper()
	out, err := s.run(args...)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}
