package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/spawn"
)

// insideProgram is where a machine of these tests has the test binary.
const insideProgram = "/usr/libexec/test"

// TestMain makes the test binary the program of a machine: its process 1, and what looks around in it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "machine" && os.Args[2] == "init" {
		life := func() error { return Live(slog.New(slog.DiscardHandler)) }
		if len(os.Args) == 3 {
			life = func() error { return Begin(os.Args[0], []string{"machine", "init", "--born"}) }
		}
		err := life()
		fmt.Fprintln(os.Stderr, "process 1:", err)
		os.Exit(1)
	}
	if len(os.Args) > 1 && os.Args[1] == "look" {
		if err := json.NewEncoder(os.Stdout).Encode(lookAround(os.Args[2:])); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// view is what root of a machine finds there.
type view struct {
	UID       int
	Host      string
	Root      []string          // names in /
	Seen      map[string]string // what reading each path gives: "" or the error
	Written   map[string]string // what writing to each gives
	Processes []string          // their programs
	Mknod     string
	Sysctl    string
	Remount   string
}

func problem(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []error{unix.EPERM, unix.EACCES, unix.EROFS, unix.ENOENT} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	return err.Error()
}

// lookAround is run as root of a machine with all capabilities that it can have.
func lookAround(paths []string) view {
	v := view{UID: os.Getuid(), Seen: map[string]string{}, Written: map[string]string{}}
	v.Host, _ = os.Hostname()
	entries, _ := os.ReadDir("/")
	for _, e := range entries {
		v.Root = append(v.Root, e.Name())
	}
	for _, path := range paths {
		_, err := os.ReadFile(path)
		v.Seen[path] = problem(err)
		v.Written[path] = problem(os.WriteFile(path, []byte("x"), 0o600))
	}
	programs, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, p := range programs {
		if to, err := os.Readlink(p); err == nil {
			v.Processes = append(v.Processes, to)
		}
	}
	slices.Sort(v.Processes)
	v.Mknod = problem(unix.Mknod("/tmp/disk", unix.S_IFBLK|0o600, int(unix.Mkdev(254, 0))))
	const setting = "/proc/sys/kernel/core_pattern"
	if value, err := os.ReadFile(setting); err == nil {
		v.Sysctl = problem(os.WriteFile(setting, value, 0))
	}
	v.Remount = problem(unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, ""))
	return v
}

// testMachine is a machine without network and cgroups, and a secret of the host's beside what it is made of.
func testMachine(t *testing.T, ids *IDs) (Config, string) {
	t.Helper()
	needRoot(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // mode 0700 on the host
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(dir, "guest.json")
	shown := filepath.Join(dir, "conf")
	for file, text := range map[string]string{secret: "secret", filepath.Join(shown, "ca.crt"): "CA", filepath.Join(dir, "own", "kept"): "kept"} {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := Config{Hostname: "inner", IDs: ids, Program: insideProgram, Stage: filepath.Join(dir, "stage"), Tools: []string{"mount"}, Tree: append(Root(),
		Entry{Kind: KindTmpfs, Target: "/etc"},
		Entry{Kind: KindText, Target: "/etc/hostname", Text: "inner\n"},
		Entry{Kind: KindOwn, Target: "/tmp", Source: filepath.Join(dir, "own"), Mode: 0o1777},
		Entry{Kind: KindShown, Target: "/etc/conf", Source: shown},
		Entry{Kind: KindShown, Target: insideProgram, Source: self},
		Entry{Kind: KindCopy, Target: "/etc/none", Source: filepath.Join(dir, "none"), Optional: true},
	)}
	libraries := closure{files: map[string]bool{}} // with the race detector the test binary has some
	if err := libraries.add(self); err != nil {
		t.Fatal(err)
	}
	for path := range maps.Keys(libraries.files) {
		if path != self {
			c.Tree = append(c.Tree, Entry{Kind: KindReadOnly, Target: path, Source: path})
		}
	}
	return c, secret
}

// look runs a program in the machine that looks around.
func (in *inner) lookFor(t *testing.T, paths ...string) view {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	pidfd, err := in.start(spawn.Program{Path: insideProgram, Args: append([]string{insideProgram, "look"}, paths...), Env: []string{"PATH=/bin"}, Dir: "/"}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer pidfd.Close()
	poll := []unix.PollFd{{Fd: int32(pidfd.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(poll, 20_000); err != nil || n != 1 {
		t.Fatalf("it does not end: %d, %v", n, err)
	}
	data, err := os.ReadFile(log.Name())
	if err != nil {
		t.Fatal(err)
	}
	var v view
	// A program that is built for coverage says more than what it is asked.
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&v); err != nil {
		t.Fatalf("it says %q: %v", data, err)
	}
	return v
}

// TestMachine: root of a machine sees the machine's files and processes alone, changes nothing of what it is made of, and is
// an ordinary user outside.
func TestMachine(t *testing.T) {
	c, secret := testMachine(t, &IDs{First: 0x6ffe0000, Count: 65536})
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	in, err := c.launch()
	if err != nil {
		t.Fatal(err)
	}
	defer in.end()
	if err := in.live(c.Hostname, "", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	v := in.lookFor(t, "/etc/conf/ca.crt", "/etc/shadow", secret, insideProgram, "/etc/hostname", "/tmp/kept", "/new", "/usr/bin/mount", "/dev/null")
	const denied, readOnly, missing = "permission denied", "read-only file system", "no such file or directory"
	want := view{
		Host: "inner", Root: []string{"dev", "etc", "lib", "lib64", "proc", "sys", "tmp", "usr"},
		Seen: map[string]string{
			"/etc/conf/ca.crt": "", "/etc/shadow": missing, secret: missing, insideProgram: "", "/etc/hostname": "", "/tmp/kept": "", "/new": missing,
			"/usr/bin/mount": "", "/dev/null": "",
		},
		Written: map[string]string{
			"/etc/conf/ca.crt": readOnly, "/etc/shadow": "", secret: missing, insideProgram: readOnly, "/etc/hostname": denied, "/tmp/kept": "",
			"/new": denied, "/usr/bin/mount": readOnly, "/dev/null": "",
		},
		Processes: []string{insideProgram, insideProgram},
		Mknod:     "operation not permitted", Sysctl: denied, Remount: "operation not permitted",
	}
	v.Root = slices.DeleteFunc(v.Root, func(name string) bool { return name == "lib" || name == "lib64" }) // as the host's libraries lie
	want.Root = slices.DeleteFunc(want.Root, func(name string) bool { return name == "lib" || name == "lib64" })
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("from within (-want +got):\n%s", diff)
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(filepath.Dir(secret), "own", "kept"), &st); err != nil || int(st.Uid) != c.IDs.First {
		t.Errorf("a file of the machine's root belongs to user %d of the host, want %d (%v)", st.Uid, c.IDs.First, err)
	}
	if namespaceOf(t, in.pid, "user") == namespaceOf(t, os.Getpid(), "user") {
		t.Error("the machine has the host's users")
	}
	// With the outer process, or by its order, everything ends.
	in.end()
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", in.pid)); !os.IsNotExist(err) {
		t.Errorf("process 1 is still there: %v", err)
	}
	// On the host nothing was mounted.
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(mounts), filepath.Dir(secret)) {
		t.Errorf("mounts show on the host: %v", err)
	}
}

// TestMachineWithoutUsers: where the kernel has no user namespaces the machine still has a root of its own.
func TestMachineWithoutUsers(t *testing.T) {
	c, secret := testMachine(t, nil)
	if err := c.prepare(); err != nil {
		t.Fatal(err)
	}
	in, err := c.launch()
	if err != nil {
		t.Fatal(err)
	}
	defer in.end()
	if err := in.live(c.Hostname, "", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := in.start(spawn.Program{Path: "/bin/sh", Args: []string{"sh"}, Dir: "/"}, log); err == nil || !strings.Contains(err.Error(), "/bin/sh: no such file") {
		t.Errorf("a program of the host: %v", err)
	}
	shown := fmt.Sprintf("/proc/%d/root", in.pid)
	for path, there := range map[string]bool{"/etc/conf/ca.crt": true, secret: false, "/etc/shadow": false, "/boot": false} {
		if _, err := os.Stat(shown + path); (err == nil) != there {
			t.Errorf("%s of the machine: %v", path, err)
		}
	}
}

// TestTry: what a kernel refuses is said, as here that the stage cannot be made.
func TestTry(t *testing.T) {
	c, _ := testMachine(t, &IDs{First: 0x6ffd0000, Count: 65536})
	if err := Try(t.Context(), c); err != nil {
		t.Errorf("on this host: %v", err)
	}
	c.Program = "/usr/libexec/missing"
	if err := Try(t.Context(), c); err == nil || !strings.Contains(err.Error(), "start process 1 of the machine: no such file") {
		t.Errorf("without a program: %v", err)
	}
}

// TestHandOver: files that a machine had before it had users of its own become its users', once.
func TestHandOver(t *testing.T) {
	needRoot(t)
	dir := filepath.Join(t.TempDir(), "own")
	sub := filepath.Join(dir, "sub")
	if err := os.MkdirAll(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(sub, "su")
	if err := os.WriteFile(program, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(program, 1000, 50); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(program, 0o755|fs.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(sub, "link")); err != nil {
		t.Fatal(err)
	}
	ids := &IDs{First: 0x80000, Count: 65536}
	for range 2 {
		if err := handOver(dir, ids); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(program, &st); err != nil {
			t.Fatal(err)
		}
		if int(st.Uid) != ids.First+1000 || int(st.Gid) != ids.First+50 || st.Mode&unix.S_ISUID == 0 {
			t.Errorf("got user %d, group %d, mode %o", st.Uid, st.Gid, st.Mode)
		}
		if err := unix.Stat(outside, &st); err != nil || st.Uid != 0 {
			t.Errorf("a file behind a link belongs to %d, %v", st.Uid, err)
		}
		if err := unix.Stat(dir, &st); err != nil || int(st.Uid) != ids.First {
			t.Errorf("the folder belongs to %d, %v", st.Uid, err)
		}
	}
}

func namespaceOf(t *testing.T, pid int, kind string) string {
	t.Helper()
	name, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", pid, kind))
	if err != nil {
		t.Fatal(err)
	}
	return name
}
