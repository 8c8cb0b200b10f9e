package supervise

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/health"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// TestBadInput: what is wrong is named by its field, and nothing is made or ended.
func TestBadInput(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a")
	r := open(t, config(t.TempDir()))
	apply(t, r, Workload{ID: "a", Components: []Component{program("api")}})
	before := awaitState(t, r, "a", "api", health.Ready)
	remove := func(grace time.Duration) error {
		_, err := r.Remove(t.Context(), "a", grace)
		return err
	}
	for name, c := range map[string]struct {
		act   func() error
		field string
	}{
		"no directory":   {func() error { _, err := New(Config{}); return err }, "dir"},
		"ports reversed": {func() error { _, err := New(Config{Dir: dir, Ports: PortRange{First: 20001, Last: 20000}}); return err }, "ports"},
		"port 0":         {func() error { _, err := New(Config{Dir: dir, Ports: PortRange{Last: 20000}}); return err }, "ports"},
		"negative grace": {func() error { return remove(-1) }, "grace"},
		"name of a port": {func() error { _, err := r.Reserve(t.Context(), "a", []string{"API"}); return err }, "ports"},
		"status of ..":   {func() error { _, err := r.Status(t.Context(), ".."); return err }, "id"},
	} {
		if bad, ok := errors.AsType[*invalid.Error](c.act()); !ok || bad.Field != c.field {
			t.Errorf("%s: got %v, want it about %s", name, bad, c.field)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a refused configuration has made its directory: %v", err)
	}
	sameProcess(t, r, before)
}

// TestLockOfUnknownHolder: a directory that is in use says so, also where it is not to be read by which process; and it
// is free as soon as that ends.
func TestLockOfUnknownHolder(t *testing.T) {
	dir := t.TempDir()
	first, err := takeLock(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, lockFile), []byte("half a p"), 0o600); err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = takeLock(impatient, dir)
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || locked.PID != 0 || locked.Error() != dir+" is in use by another KQueen" {
		t.Errorf("got %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := takeLock(impatient, dir)
	if err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(dir); !held || pid != os.Getpid() {
		t.Errorf("the holder is %d (%v), want this process", pid, held)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// TestReservationThatIsNotSaved: ports that are not on disk are no workload's, and are free for others.
func TestReservationThatIsNotSaved(t *testing.T) {
	conf := config(t.TempDir())
	conf.Ports = freePorts(t, 2)
	r := open(t, conf)
	place, err := r.Reserve(t.Context(), "a", nil)
	if err != nil {
		t.Fatal(err)
	}
	inTheWay := filepath.Join(place.Dir, PortsFile)
	if err := os.Mkdir(inTheWay, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Reserve(t.Context(), "a", []string{"api", "etcd"}); err == nil || !strings.HasPrefix(err.Error(), "save ports: ") {
		t.Fatalf("got %v, want that they could not be saved", err)
	}
	if held := r.ports.of("a"); len(held) > 0 {
		t.Errorf("the workload holds %v", held)
	}
	if _, err := r.Reserve(t.Context(), "b", []string{"api", "etcd"}); err != nil {
		t.Errorf("another workload: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(place.Dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestPlantedSymlinkIsReplaced: a program that puts a link where its file was gets a file, and what the link leads to
// stays as it is.
func TestPlantedSymlinkIsReplaced(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "shadow")
	if err := os.WriteFile(outside, []byte("root's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "conf")); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(t.Context(), dir, map[string]File{"conf": {Data: []byte("ours")}}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{outside: "root's", filepath.Join(dir, "conf"): "ours"} {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want || !info.Mode().IsRegular() {
			t.Errorf("%s has %q, %v, mode %v; want %q", path, got, err, info.Mode(), want)
		}
	}
}

// TestProbeWithBadFiles: a probe whose files are missing or hold something else says which, and trusts no server instead.
func TestProbeWithBadFiles(t *testing.T) {
	dir := t.TempDir()
	cert, key := keyPair(t)
	_, otherKey := keyPair(t)
	for name, data := range map[string][]byte{"cert": cert, "key": key, "other": otherKey, "words": []byte("no PEM")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		probe Probe
		want  string
	}{
		"authority is missing":    {Probe{CAFile: "none"}, "none: no such file"},
		"authority is none":       {Probe{CAFile: "words"}, "words holds no certificate"},
		"certificate is missing":  {Probe{CAFile: "cert", CertFile: "none", KeyFile: "key"}, "none: no such file"},
		"key is another's":        {Probe{CAFile: "cert", CertFile: "cert", KeyFile: "other"}, "private key does not match public key"},
		"key and certificate fit": {Probe{CAFile: "cert", CertFile: "cert", KeyFile: "key"}, ""},
	} {
		client, err := newProbeClient(dir, &c.probe, time.Second)
		if c.want == "" && (err != nil || client == nil) || c.want != "" && (err == nil || client != nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestCloseDuringStop: a call that waits for a stubborn program ends with the supervisor, and the program lives on for
// the next one.
func TestCloseDuringStop(t *testing.T) {
	conf := config(t.TempDir())
	r := open(t, conf)
	w := server(t, r, "a", "-ignore-term")
	w.Components[0].StopGrace = time.Hour
	apply(t, r, w)
	before := awaitState(t, r, "a", "api", health.Ready)
	stopped := make(chan error, 1)
	go func() { stopped <- r.Stop(t.Context(), "a") }()
	awaitState(t, r, "a", "api", health.Stopping)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; !errors.Is(err, ErrClosed) {
		t.Errorf("Stop: got %v, want ErrClosed", err)
	}
	if st, err := readStat(before.PID); err != nil || st.dead() {
		t.Errorf("the program ended with its supervisor: %+v, %v", st, err)
	}
	open(t, conf) // which removes it
}

// TestRecycledPID: of another process that has the pid by now nothing is shown.
func TestRecycledPID(t *testing.T) {
	own, err := readStat(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if use := readUse(os.Getpid(), own.start); use == (Use{}) {
		t.Error("nothing is shown of the process itself, so nothing is tested")
	}
	if use := readUse(os.Getpid(), own.start+1); use != (Use{}) {
		t.Errorf("of another process %+v is shown", use)
	}
}

// TestWithinNone: a program that is to run within a component which does not run is not started elsewhere.
func TestWithinNone(t *testing.T) {
	dir := t.TempDir()
	touched := filepath.Join(dir, "touched")
	l := launch{path: "/bin/touch", args: []string{touched}, dir: "/", log: filepath.Join(dir, "log"), within: filepath.Join(dir, StartSocket("outer"))}
	if p, err := start(l); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got process %+v, %v; want none", p, err)
	}
	if _, err := os.Stat(touched); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program was started: %v", err)
	}
}

// TestFailure: users read how a program ended, whatever the kernel has told of it.
func TestFailure(t *testing.T) {
	for want, last := range map[string]*health.Exit{
		"":                                nil,
		"ended with code 0":               {},
		"ended with code 3":               {Code: 3},
		"ended by signal: killed":         {Code: -1, Signal: "killed"},
		"ended, it is not known how":      {Code: -1},
		"port 1 is in use by another one": {Code: -1, Error: "port 1 is in use by another one"},
	} {
		if got := (&keeper{last: last}).failure(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestHealth: to those who know no adoption, a program that was found is starting, and is no failure.
func TestHealth(t *testing.T) {
	s := Status{Components: []ComponentStatus{
		{Component: health.Component{Name: "adopted", State: StateAdopted}},
		{Component: health.Component{Name: "exited", State: StateExited}},
		{Component: health.Component{Name: "ready", State: health.Ready}},
	}}
	want := map[string]health.State{"adopted": health.Starting, "exited": health.Backoff, "ready": health.Ready}
	for _, c := range s.Health().Components {
		if c.State != want[c.Name] {
			t.Errorf("%s is %s, want %s", c.Name, c.State, want[c.Name])
		}
	}
	if s.Ready() || (Status{}).Ready() {
		t.Error("ready while a component is not, or without any")
	}
}
