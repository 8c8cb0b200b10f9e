package cli

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

	"gopkg.in/natefinch/lumberjack.v2"

	"kqueen.io/kqueen/internal/app"
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

// report sends lines to the parent, or to nobody.
type report struct{ out io.WriteCloser }

// openReport finds the parent's descriptor, and keeps it from the programs that this one starts.
func openReport() (*report, error) {
	text := os.Getenv(reportVariable)
	if text == "" {
		return &report{}, nil
	}
	fd, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", reportVariable, err)
	}
	syscall.CloseOnExec(fd)
	return &report{out: os.NewFile(uintptr(fd), "report")}, os.Unsetenv(reportVariable)
}

// Bounds of the server's own log.
const (
	logMegabytes = 10
	logsKept     = 3
)

// log is where the server logs to: in the background a file that is rotated, else stderr.
func (r *report) log(stderr io.Writer, dir string) io.Writer {
	if r.out == nil {
		return stderr
	}
	return &lumberjack.Logger{Filename: serverLog(dir), MaxSize: logMegabytes, MaxBackups: logsKept}
}

func serverLog(dir string) string { return filepath.Join(dir, "logs", "kqueen.log") }

// send drops what cannot be sent: the parent was interrupted, and the server goes on without it.
func (r *report) send(line reportLine) {
	data, err := json.Marshal(line)
	if r.out == nil || err != nil {
		return
	}
	_, _ = r.out.Write(append(data, '\n'))
}

func (r *report) step(s stage.Step) { r.send(reportLine{Step: &s}) }

func (r *report) ready() {
	r.send(reportLine{Ready: true})
	r.close()
}

func (r *report) end(err error) {
	if err != nil {
		r.send(reportLine{Error: err.Error()})
	}
	r.close()
}

func (r *report) close() {
	if r.out != nil {
		_ = r.out.Close()
		r.out = nil
	}
}

// startInBackground starts the server in a session of its own and waits until it serves.
func (e *env) startInBackground(ctx context.Context, flags upFlags) error {
	dir, err := e.absoluteDataDir()
	if err != nil {
		return err
	}
	if _, err := flags.config(dir); err != nil {
		return err
	}
	if status, err := app.ReadStatus(ctx, dir); err == nil {
		e.say("KQueen is running already (pid %d) in %s", status.PID, dir)
		e.inviteAdministrator(ctx, dir)
		return nil
	}
	begin := time.Now()
	e.say("Starting KQueen in %s", dir)
	lines, wait, err := spawn(dir, "up", "--foreground", "--data-dir="+dir, "--listen="+flags.listen,
		"--gateway-port="+strconv.Itoa(flags.gatewayPort), "--api-port="+strconv.Itoa(flags.apiPort), "--domain="+flags.domain, "--machine-network="+flags.machineNetwork,
		"--images="+flags.images)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, flags.timeout, fail(codeTimedOut, "KQueen does not serve after %s; it goes on in the background; see %s", flags.timeout, serverLog(dir)))
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = lines.Close() })()
	if err := follow(lines, stepPrinter(e.stderr)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, io.EOF) {
			return fail(codeError, "KQueen ended while starting (%v); see %s and %s beside it", wait(), serverLog(dir), lastWords)
		}
		return fmt.Errorf("start KQueen: %w", err)
	}
	e.say("KQueen is ready after %.1fs. Next:\n  %s\n  export KUBECONFIG=%s   # for kubectl on the admin plane",
		time.Since(begin).Seconds(), e.command("cluster create demo --wait"), shellQuote(filepath.Join(dir, adminKubeconfig)))
	e.inviteAdministrator(ctx, dir)
	return nil
}

// follow reads a server's reports until it is ready. io.EOF says that it ended without a word.
func follow(lines io.Reader, print func(stage.Step)) error {
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
			return fail(codeError, "%s", line.Error)
		case line.Step != nil:
			print(*line.Step)
		}
	}
	return errors.Join(scanner.Err(), io.EOF)
}

// lastWords is the file that gets what a server writes past its log, such as the trace of a crash.
const lastWords = "stderr.log"

// spawn starts this program once more, in a session of its own. The parent's end of the report pipe is returned, and
// a function that waits for the child.
func spawn(dir string, args ...string) (io.ReadCloser, func() error, error) {
	logs := filepath.Dir(serverLog(dir))
	if err := os.MkdirAll(logs, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the data directory: %w; choose another with --data-dir", err)
	}
	log, err := os.OpenFile(filepath.Join(logs, lastWords), os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("open the log: %w; choose another place with --data-dir", err)
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
