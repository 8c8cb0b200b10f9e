package daemon

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/stage"
)

// serverVariable makes this test binary a server that a keeper starts, and says what becomes of it.
const serverVariable = "KQUEEN_TEST_SERVER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverVariable); dir != "" {
		os.Exit(serveTest(dir))
	}
	os.Exit(m.Run())
}

// serveTest is a server. It does the next act of the file "acts" in its directory, and writes its pid to the file "pids".
func serveTest(dir string) int {
	acts, err := os.ReadFile(filepath.Join(dir, "acts"))
	if err != nil {
		return 9
	}
	pids, err := os.OpenFile(filepath.Join(dir, "pids"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return 9
	}
	before, err := io.ReadAll(pids)
	if err != nil {
		return 9
	}
	_, err = pids.WriteString(strconv.Itoa(os.Getpid()) + "\n")
	report, opened := OpenReport()
	if errors.Join(err, opened) != nil {
		return 9
	}
	report.Step(stage.Step{Name: "Keys", Done: true})
	all := strings.Fields(string(acts))
	switch all[min(strings.Count(string(before), "\n"), len(all)-1)] {
	case "refuse":
		report.End(errors.New("the port is taken"))
		return 1
	case "die":
		_, _ = os.Stderr.WriteString("panic: at the beginning\n")
		return 2
	case "crash":
		report.Ready()
		_, _ = os.Stderr.WriteString("panic: while serving\n")
		return 2
	case "end":
		report.Ready()
		return 0
	}
	report.Ready()
	killed := make(chan os.Signal, 1)
	signal.Notify(killed, syscall.SIGUSR2) // which nothing sends: without it the runtime takes a wait for nothing for a deadlock
	<-killed
	return 0
}

// keep starts a keeper, whose servers act so one after the other.
func keep(t *testing.T, acts string) (k Keeper, end context.CancelFunc, ended chan error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(serverVariable, dir)
	if err := os.WriteFile(filepath.Join(dir, "acts"), []byte(acts), 0o600); err != nil {
		t.Fatal(err)
	}
	k = Keeper{Dir: dir}
	ctx, end := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() { ended <- k.Keep(ctx) }()
	t.Cleanup(end)
	return k, end, ended
}

// pids are the processes of the servers so far, once there are so many.
func (k Keeper) pids(t *testing.T, many int) []int {
	t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for begin := time.Now(); time.Since(begin) < time.Minute; <-again.C {
		data, _ := os.ReadFile(filepath.Join(k.Dir, "pids"))
		var all []int
		for line := range strings.Lines(string(data)) {
			if pid, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				all = append(all, pid)
			}
		}
		if len(all) >= many {
			return all
		}
		if pid := FindKeeper(k.Dir); pid != 0 {
			_ = Hurry(pid) // the test does not wait for the time between restarts
		}
	}
	t.Fatalf("there are not %d servers", many)
	return nil
}

// TestKeeper: a server that crashes is started again, whatever ends it, and each crash is noted with what it wrote. One that
// ends in order is not, and the keeper ends with it.
func TestKeeper(t *testing.T) {
	k, _, ended := keep(t, "crash stay die end")
	killed := k.pids(t, 2)[1]
	if pid := FindKeeper(k.Dir); pid != os.Getpid() {
		t.Errorf("the keeper is process %d, want this one", pid)
	}
	crash, err := LastCrash(k.Dir)
	if err != nil || crash == nil || !strings.HasPrefix(crash.How, "exit status 2, after ") {
		t.Fatalf("the crash is %v, %v", crash, err)
	}
	if text, err := os.ReadFile(crash.Log); err != nil || !strings.HasPrefix(string(text), "panic: while serving\n") {
		t.Errorf("its last words are %q, %v", text, err)
	}
	if err := syscall.Kill(killed, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	k.pids(t, 4)
	if err := <-ended; err != nil {
		t.Errorf("the keeper ended with %v", err)
	}
	var hows []string
	words, err := EarlierWords(k.Dir)
	for _, file := range words {
		text, err := endOf(file)
		if err != nil {
			t.Fatal(err)
		}
		how, _, _ := strings.Cut(crashIn(text).How, ", ")
		hows = append(hows, how)
	}
	if diff := cmp.Diff([]string{"exit status 2", "signal: killed", "exit status 2"}, hows); diff != "" || err != nil {
		t.Errorf("%v, crashes (-want +got):\n%s", err, diff)
	}
	if pid := FindKeeper(k.Dir); pid != 0 {
		t.Errorf("a keeper that has ended is process %d", pid)
	}
}

// TestKeeperEnds: a keeper that is to end takes the server with it; a second one finds that there is one.
func TestKeeperEnds(t *testing.T) {
	k, end, ended := keep(t, "stay")
	pid := k.pids(t, 1)[0]
	if err := k.Keep(t.Context()); err == nil || !strings.Contains(err.Error(), "another keeper") {
		t.Errorf("a second one: %v", err)
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("the server goes on: %v", err)
	}
	if crash, err := LastCrash(k.Dir); crash != nil || err != nil {
		t.Errorf("the end is taken for a crash: %v, %v", crash, err)
	}
}

// TestKeeperAdopts: a server that runs already is followed, and another one takes its place when it ends.
func TestKeeperAdopts(t *testing.T) {
	running := exec.Command("sleep", "600")
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		_ = running.Wait()
	}()
	dir := t.TempDir()
	t.Setenv(serverVariable, dir)
	if err := os.WriteFile(filepath.Join(dir, "acts"), []byte("end"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	k, ended := Keeper{Dir: dir, Adopt: running.Process.Pid}, make(chan error, 1)
	go func() { ended <- k.Keep(t.Context()) }()
	if err := running.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-reaped
	k.pids(t, 1)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if crash, err := LastCrash(dir); err != nil || crash == nil || !strings.HasPrefix(crash.How, "how is not known") {
		t.Errorf("the crash is %v, %v", crash, err)
	}
}

// TestRelay: the parent of a keeper hears what the first server reports.
func TestRelay(t *testing.T) {
	for name, tc := range map[string]struct {
		lines string
		want  outcome
		said  string // what Follow says
	}{
		"ready":    {`{"step":{"name":"Keys"}}` + "\n" + `{"ready":true}` + "\n", outcome{served: true}, ""},
		"in part":  {`{"error":"a file is damaged","degraded":true}` + "\n", outcome{served: true}, "a file is damaged"},
		"refused":  {`{"error":"the port is taken"}` + "\n", outcome{said: true}, "the port is taken"},
		"no words": {"panic\n", outcome{}, "EOF"},
	} {
		sent := &reports{}
		got := relay(io.NopCloser(strings.NewReader(tc.lines)), &Report{out: sent})
		if got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
		err := Follow(&sent.Buffer, func(stage.Step) {})
		if (err == nil) != (tc.said == "") || err != nil && err.Error() != tc.said {
			t.Errorf("%s: the parent hears %v, want %q", name, err, tc.said)
		}
	}
}

// TestHistory: what is done about each end of a server, one after the other.
func TestHistory(t *testing.T) {
	served, not, told := outcome{served: true}, outcome{}, outcome{said: true}
	again := func(after time.Duration) ending { return ending{crashed: true, again: true, after: after} }
	for name, tc := range map[string]struct {
		ends []outcome
		want []ending
	}{
		"in order":                     {[]outcome{{served: true, orderly: true}}, []ending{{}}},
		"asked to end":                 {[]outcome{{served: true, asked: true}}, []ending{{}}},
		"told why it does not begin":   {[]outcome{told}, []ending{{}}},
		"dies at the beginning":        {[]outcome{not}, []ending{{crashed: true}}},
		"crashes while it serves":      {[]outcome{served, served, served}, []ending{again(time.Second), again(time.Second), again(time.Second)}},
		"does not come back":           {[]outcome{served, told, not, not, not}, []ending{again(time.Second), again(time.Second), again(2 * time.Second), again(4 * time.Second), again(8 * time.Second)}},
		"comes back, and crashes then": {[]outcome{served, not, not, served, not}, []ending{again(time.Second), again(time.Second), again(2 * time.Second), again(time.Second), again(time.Second)}},
	} {
		var h history
		var got []ending
		for _, o := range tc.ends {
			got = append(got, h.add(o))
		}
		if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(ending{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	h := history{served: 1}
	for range 20 {
		if end := h.add(not); end.after > restartMost {
			t.Fatalf("it waits for %s", end.after)
		}
	}
}
