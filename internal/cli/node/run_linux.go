package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/here"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/join"
)

// Commands returns the commands that make the machine on which they run a node, and no node again.
func Commands(e *connection.Env) []*cobra.Command {
	return append(here.Only(e, newMachineJoinCommand(e), newMachineLeaveCommand(e)), newNodeRunCommand(e))
}

// registerDir adds the flag for the folder in which a joined machine keeps everything.
func registerDir(cmd *cobra.Command, dir *string) {
	cmd.Flags().StringVar(dir, "dir", join.DefaultDir, "data directory of the node")
	_ = cmd.MarkFlagDirname("dir")
}

// newNodeRunCommand returns `node run`, which service managers call, and `node join` in the background.
func newNodeRunCommand(e *connection.Env) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep the programs of this machine, which has joined a cluster, running",
		Long: `Keep containerd, kubelet and kube-proxy running on this machine, which has joined a
cluster. It runs until it is stopped, and leaves them running, so that it can be
restarted or upgraded without an effect on pods.`,
		Example: "  kqueen node run",
		Hidden:  true,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			place, err := placeAt(dir)
			if err != nil {
				return err
			}
			return superviseNode(cmd.Context(), e, place)
		},
	}
	registerDir(cmd, &dir)
	return cmd
}

// placeAt is where the machine keeps everything.
func placeAt(dir string) (join.Place, error) {
	abs, err := filepath.Abs(dir)
	return join.Place(abs), err
}

func superviseNode(ctx context.Context, e *connection.Env, place join.Place) error {
	report, err := daemon.OpenReport()
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(report.Log(e.Stderr, string(place)), nil))
	err = superviseWith(ctx, place, report, log)
	report.End(err)
	return err
}

func superviseWith(ctx context.Context, place join.Place, report *daemon.Report, log *slog.Logger) error {
	if r, err := place.Record(); err != nil || r == nil {
		return errors.Join(err, notJoined(place, r == nil && err == nil))
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	changed := make(chan struct{}, 1)
	runner, err := supervise.New(supervise.Config{Dir: string(place), Log: log, Notify: func(string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	}})
	if err != nil {
		return err
	}
	s := join.Supervisor{Place: place, Runner: runner, Program: program, Changed: changed, Log: log}
	return errors.Join(s.Run(ctx, report.Ready), runner.Close())
}

// notJoined says that there is no node.
func notJoined(place join.Place, so bool) error {
	if !so {
		return nil
	}
	return exit.Fail(exit.Failed, "%w (there is no node in %s)", join.ErrNotJoined, place)
}

// supervised says whether a process supervises the node's programs, and under which pid.
func supervised(place join.Place) (pid int, yes bool, err error) {
	runner, err := supervise.New(supervise.Config{Dir: string(place), Timing: supervise.Timing{LockWait: time.Millisecond}})
	if locked, ok := errors.AsType[*supervise.LockedError](err); ok {
		return locked.PID, true, nil
	}
	if err != nil {
		return 0, false, err
	}
	return 0, false, runner.Close()
}
