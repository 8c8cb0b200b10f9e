package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

func TestSettings(t *testing.T) {
	cases := map[string]struct {
		limits Limits
		v2     bool
		want   []setting
	}{
		"none, version 1":    {Limits{}, false, []setting{{"memory", "memory.limit_in_bytes", "-1", false}, {"cpu", "cpu.idle", "0", true}, {"cpu", "cpu.shares", "1024", false}, {"pids", "pids.max", "max", false}}},
		"none, version 2":    {Limits{}, true, []setting{{"memory", "memory.max", "max", false}, {"cpu", "cpu.idle", "0", true}, {"cpu", "cpu.weight", "100", false}, {"pids", "pids.max", "max", false}}},
		"all, version 1":     {Limits{Memory: 1 << 30, Weight: 80, Tasks: 9}, false, []setting{{"memory", "memory.limit_in_bytes", "1073741824", false}, {"cpu", "cpu.idle", "0", true}, {"cpu", "cpu.shares", "819", false}, {"pids", "pids.max", "9", false}}},
		"all, version 2":     {Limits{Memory: 1 << 30, Weight: 80, Tasks: 9}, true, []setting{{"memory", "memory.max", "1073741824", false}, {"cpu", "cpu.idle", "0", true}, {"cpu", "cpu.weight", "80", false}, {"pids", "pids.max", "9", false}}},
		"idle, version 1":    {Limits{Idle: true}, false, []setting{{"memory", "memory.limit_in_bytes", "-1", false}, {"cpu", "cpu.idle", "1", false}, {"pids", "pids.max", "max", false}}},
		"idle, version 2":    {Limits{Weight: 80, Idle: true}, true, []setting{{"memory", "memory.max", "max", false}, {"cpu", "cpu.idle", "1", false}, {"pids", "pids.max", "max", false}}},
		"behind, version 1":  {Limits{Weight: 50, GivesWay: true}.Behind(true), false, []setting{{"memory", "memory.limit_in_bytes", "-1", false}, {"cpu", "cpu.idle", "1", false}, {"pids", "pids.max", "max", false}}},
		"back, version 1":    {Limits{Weight: 50, GivesWay: true}.Behind(false), false, []setting{{"memory", "memory.limit_in_bytes", "-1", false}, {"cpu", "cpu.idle", "0", true}, {"cpu", "cpu.shares", "512", false}, {"pids", "pids.max", "max", false}}},
		"idle stays idle":    {Limits{Idle: true}.Behind(false), true, []setting{{"memory", "memory.max", "max", false}, {"cpu", "cpu.idle", "1", false}, {"pids", "pids.max", "max", false}}},
		"more than there is": {Limits{Weight: 99999}, true, []setting{{"memory", "memory.max", "max", false}, {"cpu", "cpu.idle", "0", true}, {"cpu", "cpu.weight", "10000", false}, {"pids", "pids.max", "max", false}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.limits.settings(tc.v2), cmp.AllowUnexported(setting{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestFilter makes calls on a thread that has the filter and nothing else of a confined program.
func TestFilter(t *testing.T) {
	type call struct {
		number, first, second uintptr
	}
	calls := map[string]struct {
		call
		want syscall.Errno
	}{
		"a user namespace":            {call{unix.SYS_UNSHARE, unix.CLONE_NEWUSER, 0}, unix.EPERM},
		"one of a new process":        {call{unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_THREAD, 0}, unix.EPERM},
		"one by flags no filter sees": {call{unix.SYS_CLONE3, 0, 0}, unix.ENOSYS},
		"a debugger":                  {call{unix.SYS_PTRACE, unix.PTRACE_TRACEME, 0}, unix.EPERM},
		"a key":                       {call{unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, 0}, unix.EPERM},
		"a ring":                      {call{unix.SYS_IO_URING_SETUP, 0, 0}, unix.EPERM},
		"a program for the kernel":    {call{unix.SYS_BPF, 0, 0}, unix.EPERM},
		"packets":                     {call{unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW}, unix.EAFNOSUPPORT},
		"the kernel's ciphers":        {call{unix.SYS_SOCKET, unix.AF_ALG, unix.SOCK_SEQPACKET}, unix.EAFNOSUPPORT},
		"the network":                 {call{unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, 0},
		"the network of version 6":    {call{unix.SYS_SOCKET, unix.AF_INET6, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, 0},
		"this host":                   {call{unix.SYS_SOCKET, unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, 0},
		"the host's addresses":        {call{unix.SYS_SOCKET, unix.AF_NETLINK, unix.SOCK_RAW | unix.SOCK_CLOEXEC}, 0},
		"what is harmless":            {call{unix.SYS_GETPPID, 0, 0}, 0},
	}
	for name, tc := range calls {
		t.Run(name, func(t *testing.T) {
			answer := make(chan error, 1)
			osthread.Spend(func() {
				err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
				if err == nil {
					err = filter()
				}
				if err != nil {
					answer <- fmt.Errorf("no filter: %w", err)
					return
				}
				got, _, failed := unix.RawSyscall(tc.number, tc.first, tc.second, 0)
				if failed == 0 && tc.number == unix.SYS_SOCKET {
					_ = unix.Close(int(got))
				}
				answer <- failed
			})
			if err := <-answer; !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestGive: what lies in a folder becomes the user's, but for what may be another file of the host.
func TestGive(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	dir, outside := filepath.Join(t.TempDir(), "a", "b"), filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "member"), 0o700), os.WriteFile(outside, nil, 0o600),
		os.WriteFile(filepath.Join(dir, "member", "db"), nil, 0o600), os.Symlink(outside, filepath.Join(dir, "symlink"))); err != nil {
		t.Fatal(err)
	}
	linked := os.Link(outside, filepath.Join(dir, "link")) == nil
	if err := Give(dir, FirstUser); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]uint32{dir: FirstUser, filepath.Join(dir, "member", "db"): FirstUser, outside: 0} {
		var st unix.Stat_t
		if err := unix.Stat(path, &st); err != nil || st.Uid != want || st.Gid != want {
			t.Errorf("%s is of %d:%d, %v; want %d (linked: %v)", path, st.Uid, st.Gid, err, want, linked)
		}
	}
}

// TestScore: a process is put among those that go first, and an inherited place before others is taken from it.
func TestScore(t *testing.T) {
	p, err := os.StartProcess("/bin/sleep", []string{"sleep", "60"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		_, _ = p.Wait()
	})
	if err := errors.Join(Score(p.Pid, ScoreTenant), Usual(p.Pid)); err != nil {
		t.Fatal(err)
	}
	if got, err := scoreOf(fmt.Sprint(p.Pid)); err != nil || got != ScoreTenant {
		t.Errorf("got %d, %v, want %d", got, err, ScoreTenant)
	}
	if err := Score(p.Pid, ScoreKept); err != nil {
		t.Errorf("where we may not, it stays: %v", err)
	}
	if err := errors.Join(Score(1<<22+1, ScoreTenant), Bound(1<<22+1)); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
}
