package host

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/engine/standalone"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/server/status"
)

func newDownCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop KQueen on this machine and keep all data",
		Long: `Stop the server, every control plane and the data store. All data is kept:
"kqueen up" brings everything back. Contexts of clusters that were deleted are
removed from your kubeconfig.`,
		Example: `  kqueen down`,
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.AbsoluteDataDir()
			if err != nil {
				return err
			}
			if app.Used(dir) {
				forgetGoneClusters(cmd.Context(), e, dir)
			}
			return down(cmd.Context(), e, app.Down)
		},
	}
}

func newResetCommand(e *connection.Env) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "Stop KQueen on this machine and delete all its data",
		Long: `Stop everything and delete all data: every cluster that KQueen hosts, every key,
everything. This cannot be undone. The built programs of Kubernetes stay. Contexts
of the installation and its clusters are removed from your files.`,
		Example: `  kqueen reset
  kqueen reset --yes`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.AbsoluteDataDir()
			if err != nil {
				return err
			}
			if !app.Used(dir) {
				return exit.Fail(exit.Failed, "there is nothing to reset: KQueen is not set up in %s", dir)
			}
			if !yes {
				if err := confirmReset(cmd, e, dir); err != nil {
					return err
				}
			}
			defer tellOfUnit(e, dir, hostSystemd())
			contexts := contextsHere(dir)
			if err := down(cmd.Context(), e, app.Reset); err != nil {
				return err
			}
			forgetInstallation(cmd.Context(), e, dir, contexts)
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// confirmReset asks for the word that no user types by accident.
func confirmReset(cmd *cobra.Command, e *connection.Env, dir string) error {
	if !console.IsTerminal(e.Stdin) {
		return exit.UsageError(cmd, "this deletes every cluster in %s; use --yes to do so without being asked", dir)
	}
	fmt.Fprintf(e.Stderr, "This deletes every cluster and all data in %s. Type \"reset\" to go on: ", dir)
	answer, err := bufio.NewReader(e.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "reset" {
		return exit.Fail(exit.Failed, "nothing was deleted")
	}
	return nil
}

// down ends the server, if there is one, and then runs finish on what it leaves.
func down(ctx context.Context, e *connection.Env, finish func(context.Context, engine.Engine, string, *slog.Logger, func(stage.Step)) error) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if !app.Used(dir) {
		return exit.Fail(exit.Failed, "KQueen is not set up in %s; start it with: %s", dir, e.Command("up"))
	}
	print := daemon.StepPrinter(e.Stderr)
	err = stage.Run(ctx, print, "Stop the server", func(ctx context.Context) error { return stopServer(ctx, dir) })
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(e.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	if err := finish(ctx, standalone.New(), dir, log, print); err != nil {
		return explainLocked(err, dir)
	}
	return nil
}

// stopServer asks the server of dir to end and waits until it has. Its keeper goes first, and takes the server with it.
func stopServer(ctx context.Context, dir string) error {
	if keeper := daemon.FindKeeper(dir); keeper != 0 {
		if err := daemon.EndProcess(ctx, "the keeper of the server", keeper); err != nil {
			return err
		}
	}
	found, err := status.Read(ctx, dir)
	if errors.Is(err, status.ErrNotRunning) {
		return nil
	}
	if silent, ok := errors.AsType[*status.SilentError](err); ok && silent.PID != 0 {
		return daemon.EndHungProcess(ctx, "the server, which does not answer,", silent.PID)
	}
	if err != nil {
		return err
	}
	return daemon.EndProcess(ctx, "the server", found.PID)
}
