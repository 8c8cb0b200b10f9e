package supervise

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/confine"
	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/osthread"
)

// confinedServer describes a confined workload whose program is ready once it could read its key.
func confinedServer(t *testing.T, r *Supervisor, id string, args ...string) Workload {
	t.Helper()
	if err := r.users.able(); err != nil {
		incomplete(t, err.Error())
	}
	w := server(t, r, id, append([]string{"-holds", "key=secret"}, args...)...)
	w.Files = map[string]File{"key": {Data: []byte("secret")}}
	w.Confined, w.Score = true, confine.ScoreTenant
	w.Limits = confine.Limits{Memory: 512 << 20, Weight: 50, Tasks: 200}
	return w
}

// incomplete ends a test on a host that does not do all of it, which a host that sets limits for its root does.
func incomplete(t *testing.T, why string) {
	t.Helper()
	for _, at := range []string{"pids", ""} { // version 1, version 2
		dir := filepath.Join("/sys/fs/cgroup", at, "kqueen-test-"+strconv.Itoa(os.Getpid()))
		if os.Geteuid() == 0 && errors.Join(os.Mkdir(dir, 0o755), os.Remove(dir)) == nil {
			t.Fatalf("this host sets limits, and programs are not confined: %s", why)
		}
	}
	t.Skip(why)
}

// statusLines are the lines of /proc/<pid>/status with those names.
func statusLines(t *testing.T, pid int, names ...string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(line, ":")
		for _, n := range names {
			if n == name {
				found[n] = strings.Join(strings.Fields(value), " ")
			}
		}
	}
	return found
}

// limitsOf are the files of a process's cgroup with the limits, by name; those that this host has.
func limitsOf(t *testing.T, pid int) map[string]string {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for line := range strings.Lines(strings.TrimSpace(string(data))) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, file := range []string{"memory.limit_in_bytes", "memory.max", "cpu.shares", "cpu.weight", "pids.max"} {
			dir := filepath.Join("/sys/fs/cgroup", parts[1], parts[2])
			if value, err := os.ReadFile(filepath.Join(dir, file)); err == nil && strings.Contains(parts[2], "kqueen-") {
				found[file] = strings.TrimSpace(string(value))
			}
		}
	}
	return found
}

func TestConfinedProgram(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := confinedServer(t, r, "a")
	apply(t, r, w)
	s := await(t, r, "a", Status.Ready)
	pid, user := s.Components[0].PID, strconv.Itoa(r.users.byID["a"])
	ids := strings.Join([]string{user, user, user, user}, " ")
	none := "0000000000000000"
	want := map[string]string{
		"Uid": ids, "Gid": ids, "Groups": "", "CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none, "NoNewPrivs": "1", "Seccomp": "2",
	}
	got := statusLines(t, pid, "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("privileges (-want +got):\n%s", diff)
	}
	score, err := os.ReadFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid))
	if err != nil || strings.TrimSpace(string(score)) != strconv.Itoa(confine.ScoreTenant) {
		t.Errorf("score is %s, %v", score, err)
	}
	seen, err := os.ReadDir(fmt.Sprintf("/proc/%d/root", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range seen {
		if slices.Contains([]string{"root", "home", "var", "boot", "mnt", "opt", "srv"}, e.Name()) && !strings.HasPrefix(r.conf.Dir, "/"+e.Name()+"/") {
			t.Errorf("the program sees the host's /%s", e.Name())
		}
	}
	if s.Confinement != ConfinementComplete {
		incomplete(t, s.Confinement)
	}
	if n := len(limitsOf(t, pid)); n != 3 {
		t.Errorf("its cgroup has %d limits, want 3", n)
	}
	for file, value := range limitsOf(t, pid) {
		if want := map[string]string{
			"memory.limit_in_bytes": "536870912", "memory.max": "536870912", "cpu.shares": "512", "cpu.weight": "50", "pids.max": "200",
		}[file]; value != want {
			t.Errorf("%s is %s, want %s", file, value, want)
		}
	}

	// Limits are changed while it runs.
	w.Limits.Tasks = 300
	apply(t, r, w)
	s = await(t, r, "a", func(s Status) bool { return s.Ready() && limitsOf(t, s.Components[0].PID)["pids.max"] == "300" })
	if s.Components[0].PID != pid {
		t.Error("new limits have restarted the program")
	}
	group := filepath.Join("/sys/fs/cgroup", "pids", "kqueen-"+r.instance[:12]+"-a")
	if gone, err := r.Remove(t.Context(), "a", 0); err != nil || !gone {
		t.Fatalf("remove: %v, %v", gone, err)
	}
	if _, err := os.Stat(group); err == nil {
		t.Errorf("%s is left", group)
	}
}

// TestLimitsWithoutConfinement: a program that runs as KQueen does has limits, too, also one that runs already.
func TestLimitsWithoutConfinement(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	w := confinedServer(t, r, "a")
	w.Confined, w.Limits = false, confine.Limits{}
	apply(t, r, w)
	pid := await(t, r, "a", Status.Ready).Components[0].PID
	if got := limitsOf(t, pid); len(got) > 0 {
		t.Errorf("without limits it has %v", got)
	}
	w.Limits.Weight = 1000
	apply(t, r, w)
	s := await(t, r, "a", func(s Status) bool { return s.Ready() && len(limitsOf(t, s.Components[0].PID)) == 3 })
	if got := limitsOf(t, pid); got["cpu.shares"] != "10240" && got["cpu.weight"] != "1000" {
		t.Errorf("it has %v", got)
	}
	if s.Components[0].PID != pid || s.Confinement != "" {
		t.Errorf("limits have restarted the program, or confined it: %v", s)
	}
}

// TestLatencySensitive: a program for which calls wait has short slices of processor time, also one that runs already.
func TestLatencySensitive(t *testing.T) {
	t.Parallel()
	slice := func(pid int) uint64 {
		attr, err := unix.SchedGetAttr(pid, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Runtime
	}
	r := open(t, config(t.TempDir()))
	w := server(t, r, "a")
	apply(t, r, w)
	pid := await(t, r, "a", Status.Ready).Components[0].PID
	usual := slice(pid)
	w.Components[0].LatencySensitive = true
	apply(t, r, w)
	// Linux before 6.12 has no slices, and says 0.
	await(t, r, "a", func(s Status) bool { return s.Ready() && (usual == 0 || slice(pid) < usual) })
	if got := leaders(t, r, "a"); len(got) != 1 || got[0] != pid {
		t.Errorf("program %d was restarted: %v", pid, got)
	}
}

// TestConfinedIsFoundAgain: another KQueen finds a program of another user, and does not start it again. A program that was
// not confined is restarted once.
func TestConfinedIsFoundAgain(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	r := open(t, conf)
	w := confinedServer(t, r, "a")
	plain := w
	plain.Confined = false
	apply(t, r, plain)
	before := awaitState(t, r, "a", "api", health.Ready)
	apply(t, r, w)
	confined := await(t, r, "a", func(s Status) bool { return s.Ready() && s.Components[0].PID != before.PID }).Components[0]
	if confined.Restarts != 0 || confined.LastExit != nil {
		t.Errorf("a wanted restart is no failure, got %+v", confined)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	r = open(t, conf)
	if a := awaitState(t, r, "a", "api", StateAdopted); a.PID != confined.PID {
		t.Errorf("adopted %d, want %d", a.PID, confined.PID)
	}
	apply(t, r, w)
	if s := await(t, r, "a", Status.Ready); s.Components[0].PID != confined.PID {
		t.Error("it was started again")
	}
}

// TestConfinedFiles: a program of one workload cannot read another one's files, even from within their directory, and
// writes what it is told to alone.
func TestConfinedFiles(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	// As it was copied there by root.
	if err := os.WriteFile(filepath.Join(data, "starts"), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a, b := confinedServer(t, r, "a", "-touch", filepath.Join(data, "starts")), confinedServer(t, r, "b", "-touch", "starts")
	a.Components[0].Writes = []string{data}
	own := confinedServer(t, r, "own", "-touch", "log/starts")
	own.Components[0].Writes = []string{"log"}
	apply(t, r, a)
	apply(t, r, b)
	apply(t, r, own)
	await(t, r, "a", Status.Ready)
	await(t, r, "own", Status.Ready)
	folder, err := r.Folder("own", "log")
	if err != nil {
		t.Fatal(err)
	}
	if lines, err := folder.ReadFile("starts"); err != nil || len(lines) == 0 {
		t.Errorf("the program has written %q in a folder of its own, %v", lines, err)
	}
	if err := folder.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Folder("own", "../a"); err == nil {
		t.Error("the folder of another workload is opened")
	}
	if _, err := r.Folder("a", "log"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
	if lines, err := os.ReadFile(filepath.Join(data, "starts")); err != nil || strings.Count(string(lines), "\n") != 2 {
		t.Errorf("the program has written %q, %v", lines, err)
	}
	if c := awaitState(t, r, "b", "api", health.Backoff); c.LastExit == nil || !strings.Contains(c.LastExit.Log, "read-only") {
		t.Errorf("a program could write its own directory: %+v", c)
	}
	users := r.users.byID
	if users["a"] == users["b"] {
		t.Fatalf("both run as %d", users["a"])
	}
	for _, reader := range []string{"a", "b"} {
		for _, of := range []string{"a", "b"} {
			err := readAs(users[reader], filepath.Join(r.conf.Dir, "workloads", of), "key")
			if reader == of && err != nil || reader != of && !errors.Is(err, unix.EACCES) {
				t.Errorf("%s reads the key of %s: %v", reader, of, err)
			}
			if err := readAs(users[reader], filepath.Join(r.conf.Dir, "workloads", of), "ports.json"); !errors.Is(err, unix.EACCES) {
				t.Errorf("%s reads the ports of %s: %v", reader, of, err)
			}
		}
	}
}

// readAs opens a file as another user who has the folder open already, and so needs no way there.
func readAs(user int, folder, name string) error {
	answer := make(chan error, 1)
	osthread.Spend(func() {
		dir, err := unix.Open(folder, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			answer <- err
			return
		}
		if err := become(user); err != nil {
			answer <- err
			return
		}
		fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Close(fd)
		}
		answer <- errors.Join(err, unix.Close(dir))
	})
	return <-answer
}

// TestConfinedConnections: a program of a workload connects to its own ports and to what it may reach, and to no other port
// of the host.
func TestConfinedConnections(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	a, b := confinedServer(t, r, "a"), confinedServer(t, r, "b")
	at := func(id string) netip.AddrPort {
		return netip.AddrPortFrom(r.conf.Listen, uint16(r.ports.of(id)["api"]))
	}
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	allowed := netip.MustParseAddrPort(other.Addr().String())
	a.Reach, b.Reach = []netip.AddrPort{allowed}, []netip.AddrPort{}
	apply(t, r, a)
	apply(t, r, b)
	if s := await(t, r, "a", Status.Ready); s.Confinement != ConfinementComplete {
		incomplete(t, s.Confinement)
	}
	await(t, r, "b", Status.Ready)
	user := r.users.byID["a"]
	for to, want := range map[netip.AddrPort]error{at("a"): nil, allowed: nil, at("b"): unix.EHOSTUNREACH} {
		if err := connectAs(user, to); !errors.Is(err, want) {
			t.Errorf("connect to %s: %v, want %v", to, err, want)
		}
	}

	// It is put up again where it was taken away, and follows what is described.
	if err := r.wall("a").Lower(); err != nil {
		t.Fatal(err)
	}
	if err := connectAs(user, at("b")); err != nil {
		t.Errorf("without a wall: %v", err)
	}
	apply(t, r, a)
	if err := connectAs(user, at("b")); !errors.Is(err, unix.EHOSTUNREACH) {
		t.Errorf("with a wall again: %v", err)
	}
	a.Reach = []netip.AddrPort{at("b")}
	apply(t, r, a)
	if err := errors.Join(connectAs(user, at("b"))); err != nil {
		t.Errorf("what it may reach now: %v", err)
	}
	if gone, err := r.Remove(t.Context(), "a", 0); err != nil || !gone {
		t.Fatalf("remove: %v, %v", gone, err)
	}
	if there, err := r.wall("a").Stands(); err != nil || there {
		t.Errorf("the wall of a removed workload stands: %t, %v", there, err)
	}
}

// connectAs opens a connection as another user.
func connectAs(user int, to netip.AddrPort) error {
	answer := make(chan error, 1)
	osthread.Spend(func() {
		if err := become(user); err != nil {
			answer <- err
			return
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}), unix.Close(fd))
		}
		answer <- err
	})
	return <-answer
}

// become has the calling thread, and no other, be another user.
func become(user int) error {
	for _, call := range []uintptr{unix.SYS_SETRESGID, unix.SYS_SETRESUID} {
		if _, _, failed := unix.RawSyscall(call, uintptr(user), uintptr(user), uintptr(user)); failed != 0 {
			return failed
		}
	}
	return nil
}

// TestMarksOfOthers: what a confined program says that it is, is believed for its own workload alone.
func TestMarksOfOthers(t *testing.T) {
	own := os.Geteuid()
	const one, two, three = confine.FirstUser, confine.FirstUser + 1, confine.FirstUser + 2
	b := &userBook{byID: map[string]int{"a": one, "b": two}, taken: map[int]bool{one: true, two: true}}
	cases := map[string]struct {
		workload string
		uid      int
		want     bool
	}{
		"KQueen's own":                    {"a", own, true},
		"the workload's":                  {"a", one, true},
		"another workload's":              {"a", two, false},
		"of a workload that has none":     {"c", two, false},
		"what a removed one has left":     {"c", three, true},
		"what is left, for one that runs": {"a", three, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := b.ours([]found{{marks: marks{workload: tc.workload}, uid: tc.uid}})
			if (len(got) == 1) != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

// TestNotAble: where programs cannot be confined they run all the same, and the status says so.
func TestNotAble(t *testing.T) {
	t.Parallel()
	r := open(t, config(t.TempDir()))
	r.users.able = func() error { return errors.New("KQueen does not run as root") }
	w := server(t, r, "a")
	w.Confined = true
	apply(t, r, w)
	s := await(t, r, "a", Status.Ready)
	if want := "none: KQueen does not run as root"; s.Confinement != want || s.Health().Confinement != want {
		t.Errorf("confinement is %q, want %q", s.Confinement, want)
	}
}

func TestConfinedIsRefused(t *testing.T) {
	cases := map[string]struct {
		change func(*Workload)
		want   string
	}{
		"a file in a folder": {func(w *Workload) { w.Files = map[string]File{"pki/key": {}} }, "files[pki/key]"},
		"within another":     {func(w *Workload) { w.Components[0].Within = "d" }, "components[c].within"},
		"a foreign folder":   {func(w *Workload) { w.Components[0].Writes = []string{"../b"} }, "components[c].writes"},
		"its whole folder":   {func(w *Workload) { w.Components[0].Writes = []string{"."} }, "components[c].writes"},
		"the whole host":     {func(w *Workload) { w.Components[0].Writes = []string{"/"} }, "components[c].writes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := Workload{ID: "a", Confined: true, Components: []Component{program("c")}}
			tc.change(&w)
			if err := w.Validate(); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
}
