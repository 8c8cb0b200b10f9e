package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/engine/standalone"
	"kqueen.io/kqueen/internal/platform/stage"
)

// stopTimeout is how long a server may take to end after it was asked to.
const stopTimeout = 30 * time.Second

func newDownCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop KQueen on this machine and keep all data",
		Long: `Stop the server, every control plane and the data store. All data is kept:
"kqueen up" brings everything back.`,
		Example: `  kqueen down`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return e.down(cmd.Context(), app.Down)
		},
	}
}

func newResetCommand(e *env) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Stop KQueen on this machine and delete all its data",
		Long: `Stop everything and delete all data: every cluster that KQueen hosts, every key,
everything. There is no way back. The built programs of Kubernetes stay.`,
		Example: `  kqueen reset
  kqueen reset --yes`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.absoluteDataDir()
			if err != nil {
				return err
			}
			if !app.Used(dir) {
				return fail(codeError, "there is nothing to reset: KQueen is not set up in %s", dir)
			}
			if !yes {
				if err := e.confirmReset(cmd, dir); err != nil {
					return err
				}
			}
			return e.down(cmd.Context(), app.Reset)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmReset asks for the word that nobody types by accident.
func (e *env) confirmReset(cmd *cobra.Command, dir string) error {
	if !isTerminal(e.stdin) {
		return usageError(cmd, "this deletes every cluster in %s; say --yes to do so without being asked", dir)
	}
	fmt.Fprintf(e.stderr, "This deletes every cluster and all data in %s. Type \"reset\" to go on: ", dir)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "reset" {
		return fail(codeError, "nothing was deleted")
	}
	return nil
}

// down ends the server, if there is one, and then runs finish on what it leaves.
func (e *env) down(ctx context.Context, finish func(context.Context, engine.Engine, string, *slog.Logger, func(stage.Step)) error) error {
	dir, err := e.absoluteDataDir()
	if err != nil {
		return err
	}
	if !app.Used(dir) {
		return fail(codeError, "KQueen is not set up in %s; start it with: %s", dir, e.command("up"))
	}
	print := stepPrinter(e.stderr)
	err = stage.Run(ctx, print, "Stop the server", func(ctx context.Context) error { return stopServer(ctx, dir) })
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(e.stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := finish(ctx, standalone.New(), dir, log, print); err != nil {
		return explainLocked(err, dir)
	}
	return nil
}

// stopServer asks the server of dir to end and waits until it has.
func stopServer(ctx context.Context, dir string) error {
	status, err := app.ReadStatus(ctx, dir)
	if errors.Is(err, app.ErrNotRunning) {
		return nil
	}
	if err != nil {
		return err
	}
	return endProcess(ctx, "the server", status.PID)
}

// endProcess asks a process to end and waits until it has. A pidfd keeps the signal from hitting whoever gets the
// number next. what says for people which process it is.
func endProcess(ctx context.Context, what string, pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s (pid %d): %w", what, pid, err)
	}
	process := os.NewFile(uintptr(fd), "process")
	defer process.Close()
	if err := unix.PidfdSendSignal(fd, syscall.SIGTERM, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("stop %s (pid %d): %w", what, pid, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := unix.Poll(poll, int(time.Second/time.Millisecond))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %s (pid %d): %w", what, pid, err)
		}
	}
	return fail(codeTimedOut, "%s (pid %d) did not end within %s", what, pid, stopTimeout)
}
