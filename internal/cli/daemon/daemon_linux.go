package daemon

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	lumberjack "gopkg.in/natefinch/lumberjack.v2"

	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/stage"
)

// reportVariable tells a server in the background the number of the descriptor on which its parent
// waits for reports.
const reportVariable = "KQUEEN_REPORT_FD"

// reportLine is one line that a server sends to its parent. One of its fields is set, and Degraded goes with an Error after
// which the server goes on.
type reportLine struct {
	Step     *stage.Step `json:"step,omitempty"`
	Ready    bool        `json:"ready,omitempty"`
	Error    string      `json:"error,omitempty"`
	Degraded bool        `json:"degraded,omitempty"`
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

// Alone says that no parent waits for reports.
func (r *Report) Alone() bool { return r.out == nil }

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
func (r *Report) Degraded(err error) {
	r.send(reportLine{Error: err.Error(), Degraded: true})
	r.close()
}

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

// Spawn starts this program once more, in a session of its own. The parent's end of the report pipe is returned, and
// a function that waits for the child. flag is the one by which the user chose the directory.
func Spawn(dir, flag string, args ...string) (io.ReadCloser, func() error, error) {
	in, cmd, err := launch(dir, args)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; choose another place with %s", err, flag)
	}
	return in, cmd.Wait, nil
}

// launch starts this program once more, in a session of its own, with the pipe on which it reports. What it writes to standard
// error is in [LastWords]; what an earlier one has written there is kept beside it.
func launch(dir string, args []string) (io.ReadCloser, *exec.Cmd, error) {
	logs := filepath.Dir(ServerLog(dir))
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, nil, fmt.Errorf("create the folder for logs: %w", err)
	}
	if err := keepLastWords(logs); err != nil {
		return nil, nil, fmt.Errorf("keep an earlier log: %w", err)
	}
	log, err := os.OpenFile(filepath.Join(logs, LastWords), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("create a pipe: %w", err)
	}
	defer out.Close()
	program, err := os.Executable()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("find this program: %w", err), in.Close())
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = log, log, []*os.File{out}
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), reportVariable+"=3")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start the server: %w", err), in.Close())
	}
	return in, cmd, nil
}

// StepPrinter prints the steps of starting and stopping, a line each, with their times.
func StepPrinter(out io.Writer) func(stage.Step) {
	return func(s stage.Step) {
		if s.Done {
			fmt.Fprintf(out, "  ✓ %-28s %6.1fs\n", console.Clean(s.Name), s.Elapsed.Seconds())
		}
	}
}
