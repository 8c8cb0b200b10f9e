package daemon

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	lumberjack "gopkg.in/natefinch/lumberjack.v2"

	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/stage"
)

// reportVariable tells a server in the background the number of the descriptor on which its parent
// waits for reports.
const reportVariable = "KQUEEN_REPORT_FD"

// reportLine is one line that a server sends to its parent. One of its fields is set.
type reportLine struct {
	Step  *stage.Step `json:"step,omitempty"`
	Ready bool        `json:"ready,omitempty"`
	Error string      `json:"error,omitempty"`
}

// Report sends lines to the parent, or to none.
type Report struct{ out io.WriteCloser }

// OpenReport finds the parent's descriptor, and keeps it from the programs that this one starts.
func OpenReport() (*Report, error) {
	text := os.Getenv(reportVariable)
	if text == "" {
		return &Report{}, nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reportVariable, err)
	}
	syscall.CloseOnExec(fd)
	return &Report{out: os.NewFile(uintptr(fd), "report")}, os.Unsetenv(reportVariable)
}

// Bounds of the server's own log.
const (
	logMegabytes = 10
	logsKept     = 3
)

// Log is where the server logs to: in the background a file that is rotated, else stderr.
func (r *Report) Log(stderr io.Writer, dir string) io.Writer {
	if r.out == nil {
		return stderr
	}
	return &lumberjack.Logger{Filename: ServerLog(dir), MaxSize: logMegabytes, MaxBackups: logsKept}
}

// ServerLog is the file of a data directory that a server in the background logs to.
func ServerLog(dir string) string { return filepath.Join(dir, "logs", "kqueen.log") }

// send drops what cannot be sent: the parent was interrupted, and the server goes on without it.
func (r *Report) send(line reportLine) {
	data, err := json.Marshal(line)
	if r.out == nil || err != nil {
		return
	}
	_, _ = r.out.Write(append(data, '\n'))
}

// Step tells the parent how far the start is.
func (r *Report) Step(s stage.Step) { r.send(reportLine{Step: &s}) }

// Ready tells the parent that everything is ready. It is the last that the parent hears.
func (r *Report) Ready() {
	r.send(reportLine{Ready: true})
	r.close()
}

// Degraded tells the parent that the server runs in part, and why. It is the last that the parent hears.
func (r *Report) Degraded(err error) { r.End(err) }

// End tells the parent why the server ended, unless it was ready before.
func (r *Report) End(err error) {
	if err != nil {
		r.send(reportLine{Error: err.Error()})
	}
	r.close()
}

func (r *Report) close() {
	if r.out != nil {
		_ = r.out.Close()
		r.out = nil
	}
}

// Follow reads a server's reports until it is ready. io.EOF, and no other error, says that it ended without a word.
func Follow(lines io.Reader, print func(stage.Step)) error {
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() {
		var line reportLine
		if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
			return fmt.Errorf("read the server's report: %w", err)
		}
		switch {
		case line.Ready:
			return nil
		case line.Error != "":
			return exit.Fail(exit.Failed, "%s", line.Error)
		case line.Step != nil:
			print(*line.Step)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the server's report: %w", err)
	}
	return io.EOF
}

// LastWords is the file that gets what a server writes past its log, such as the trace of a crash.
const LastWords = "stderr.log"

// Spawn starts this program once more, in a session of its own. The parent's end of the report pipe is returned, and
// a function that waits for the child. flag is the one by which the user chose the directory.
func Spawn(dir, flag string, args ...string) (io.ReadCloser, func() error, error) {
	logs := filepath.Dir(ServerLog(dir))
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the folder for logs: %w; choose another place with %s", err, flag)
	}
	log, err := os.OpenFile(filepath.Join(logs, LastWords), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w; choose another place with %s", err, flag)
	}
	defer log.Close()
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("make a pipe: %w", err)
	}
	defer out.Close()
	program, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{out}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), reportVariable+"=3")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start the server: %w", err), in.Close())
	}
	return in, cmd.Wait, nil
}

// stopTimeout is how long a server may take to end after it was asked to.
const stopTimeout = 30 * time.Second

// hungTimeout is how long a server that does not answer may take to end before it is killed.
const hungTimeout = 5 * time.Second

// EndProcess asks a process to end and waits until it has. what tells the user which process it is.
func EndProcess(ctx context.Context, what string, pid int) error {
	return endProcess(ctx, what, pid, syscall.SIGTERM, stopTimeout)
}

// EndHungProcess is EndProcess for one that does not answer: it is killed when it does not end soon.
func EndHungProcess(ctx context.Context, what string, pid int) error {
	err := endProcess(ctx, what, pid, syscall.SIGTERM, hungTimeout)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return endProcess(ctx, what, pid, syscall.SIGKILL, stopTimeout)
}

// endProcess sends a signal and waits. A pidfd keeps the signal from hitting the process that gets the number next.
func endProcess(ctx context.Context, what string, pid int, signal syscall.Signal, within time.Duration) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s (pid %d): %w", what, pid, err)
	}
	process := os.NewFile(uintptr(fd), "process")
	defer process.Close()
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("stop %s (pid %d): %w", what, pid, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(within); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := unix.Poll(poll, int(time.Second/time.Millisecond))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %s (pid %d): %w", what, pid, err)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("wait for %s (pid %d): %w", what, pid, context.Cause(ctx))
	}
	return exit.Fail(exit.TimedOut, "%s (pid %d) did not end within %s", what, pid, within)
}

// StepPrinter prints the steps of starting and stopping, a line each, with their times.
func StepPrinter(out io.Writer) func(stage.Step) {
	return func(s stage.Step) {
		if s.Done {
			fmt.Fprintf(out, "  ✓ %-28s %6.1fs\n", console.Clean(s.Name), s.Elapsed.Seconds())
		}
	}
}
