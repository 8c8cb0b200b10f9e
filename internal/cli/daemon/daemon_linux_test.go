package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/stage"
)

// TestFollow reads what servers report that come up, that do not, and that write what is no report.
func TestFollow(t *testing.T) {
	const keys = `{"step":{"name":"Keys","done":true,"elapsed":1500000000}}` + "\n"
	cases := map[string]struct {
		lines string
		steps []string
		ended bool
		want  string // of the error
	}{
		"ready":                {lines: keys + `{"ready":true}` + "\n{", steps: []string{"Keys"}},
		"why it ended":         {lines: keys + `{"error":"the port is taken\nstop it"}` + "\n", steps: []string{"Keys"}, want: "the port is taken\nstop it"},
		"without a word":       {lines: keys, steps: []string{"Keys"}, ended: true, want: "EOF"},
		"nothing":              {ended: true, want: "EOF"},
		"what this one knows":  {lines: `{"later":1}` + "\n" + `{"ready":true}` + "\n"},
		"a trace of a crash":   {lines: "panic: no\n", want: "read the server's report: invalid character"},
		"a line without end":   {lines: `{"error":"` + strings.Repeat("x", 1<<17), want: "read the server's report: bufio.Scanner: token too long"},
		"half of the last one": {lines: keys + `{"rea`, steps: []string{"Keys"}, want: "read the server's report: unexpected end of JSON input"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var steps []string
			err := Follow(strings.NewReader(c.lines), func(s stage.Step) { steps = append(steps, s.Name) })
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if errors.Is(err, io.EOF) != c.ended {
				t.Errorf("got %v, want that it says that the server ended: %t", err, c.ended)
			}
			if diff := cmp.Diff(c.steps, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// reports are what a parent gets to read.
type reports struct {
	bytes.Buffer

	closed int
}

func (r *reports) Close() error {
	r.closed++
	return nil
}

// TestReport: what is sent is what Follow reads, and nothing comes after the last word.
func TestReport(t *testing.T) {
	for name, tc := range map[string]struct {
		end   func(*Report)
		lines int
		want  string
	}{
		"ready":            {func(r *Report) { r.Ready() }, 2, ""},
		"ready, and ended": {func(r *Report) { r.Ready(); r.End(errors.New("later")) }, 2, ""},
		"ended":            {func(r *Report) { r.End(errors.New("a\nb")); r.Ready() }, 2, "a\nb"},
		"ended well":       {func(r *Report) { r.End(nil) }, 1, "EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			sent := &reports{}
			r := &Report{out: sent}
			r.Step(stage.Step{Name: "Keys"})
			tc.end(r)
			if lines := strings.Count(sent.String(), "\n"); lines != tc.lines || sent.closed != 1 {
				t.Errorf("%d lines were sent, want %d: %q; closed %d times", lines, tc.lines, sent.String(), sent.closed)
			}
			var steps []stage.Step
			err := Follow(&sent.Buffer, func(s stage.Step) { steps = append(steps, s) })
			if (err == nil) != (tc.want == "") || err != nil && err.Error() != tc.want {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff([]stage.Step{{Name: "Keys"}}, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOpenReport finds the parent, or none, and hands it on to no other program.
func TestOpenReport(t *testing.T) {
	t.Setenv(reportVariable, "")
	none, err := OpenReport()
	if err != nil {
		t.Fatal(err)
	}
	none.Ready() // nothing happens
	if to := none.Log(os.Stderr, t.TempDir()); to != os.Stderr {
		t.Errorf("in the foreground the log goes to %v", to)
	}
	t.Setenv(reportVariable, "three")
	if _, err := OpenReport(); err == nil || !strings.Contains(err.Error(), reportVariable) {
		t.Errorf("got %v, want an error that names the variable", err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	fd, err := unix.Dup(int(out.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	out.Close()
	t.Setenv(reportVariable, strconv.Itoa(fd))
	r, err := OpenReport()
	if err != nil {
		t.Fatal(err)
	}
	if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Errorf("programs that this one starts inherit the descriptor (%v)", err)
	}
	if _, there := os.LookupEnv(reportVariable); there {
		t.Error("programs that this one starts are told of the descriptor")
	}
	r.Ready()
	if err := Follow(in, func(stage.Step) {}); err != nil {
		t.Error(err)
	}
}

// TestSpawnRefuses: nothing is started where nothing can be kept, and the user is told what to choose.
func TestSpawnRefuses(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "logs"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Spawn(dir, "--dir", "node", "run"); err == nil || !strings.HasSuffix(err.Error(), "choose another place with --dir") {
		t.Errorf("got %v, want that another place is to be chosen", err)
	}
}

// TestEndProcess ends a process, and finds that one has ended. One that does not end is not waited for when the user
// interrupts.
func TestEndProcess(t *testing.T) {
	start := func(script string) *exec.Cmd {
		cmd := exec.Command("sh", "-c", script)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it is ready for signals
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		})
		return cmd
	}
	meek := start("echo; exec sleep 60")
	if err := EndProcess(t.Context(), "the server", meek.Process.Pid); err != nil {
		t.Error(err)
	}
	_ = meek.Wait()
	if err := EndProcess(t.Context(), "the server", meek.Process.Pid); err != nil {
		t.Errorf("one that has ended: %v", err)
	}
	stubborn := start("trap '' TERM; echo; exec sleep 60")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := EndProcess(ctx, "the server", stubborn.Process.Pid); !errors.Is(err, context.Canceled) || exit.CodeOf(err) == exit.TimedOut {
		t.Errorf("got %v, want that it was interrupted", err)
	}
}
