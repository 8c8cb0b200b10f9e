package node

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/join"
)

// machineLeave is one run of `node leave`.
type machineLeave struct {
	env         *connection.Env
	dir         string
	yes, dryRun bool
}

// newMachineLeaveCommand returns `node leave`.
func newMachineLeaveCommand(e *connection.Env) *cobra.Command {
	l := &machineLeave{env: e}
	cmd := &cobra.Command{
		Use:   "leave",
		Short: "Remove this machine from its cluster",
		Long: `Remove the machine on which this runs from the cluster that it has joined with
"kqueen node join": end its pods at once, stop its programs, and remove all that
they created. What was on the machine before stays, and so do the programs of releases.

Let its pods move first where KQueen runs, with "kqueen node drain"; and remove the
node there, with "kqueen node replace" or by scaling its nodepool down.`,
		Example: `  kqueen node leave --dry-run
  kqueen node leave --yes`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return l.run(cmd) },
	}
	registerDir(cmd, &l.dir)
	cmd.Flags().BoolVar(&l.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&l.dryRun, "dry-run", false, "only show what would be removed")
	return cmd
}

func (l *machineLeave) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	if os.Geteuid() != 0 {
		return exit.Fail(exit.Failed, "only root can remove a node; run the same as root")
	}
	place, err := placeAt(l.dir)
	if err != nil {
		return err
	}
	record, err := place.Record()
	if err != nil {
		return err
	}
	if err := notJoined(place, record == nil); err != nil {
		return err
	}
	leaving := &join.Leaving{Place: place, Record: record}
	goes, err := leaving.Goes(ctx)
	if err != nil {
		return err
	}
	if l.dryRun {
		fmt.Fprintf(l.env.Stdout, "node %s of the cluster at %s\n%s\n", record.Node, record.Cluster.Server, strings.Join(goes, "\n"))
		return nil
	}
	if !l.yes {
		if err := l.confirm(cmd, record, goes); err != nil {
			return err
		}
	}
	return l.leave(ctx, leaving)
}

// confirm asks for the word that no user types by accident.
func (l *machineLeave) confirm(cmd *cobra.Command, record *join.Record, goes []string) error {
	if !console.IsTerminal(l.env.Stdin) {
		return exit.UsageError(cmd, "this ends every pod on the machine; use --yes to do so without being asked, or --dry-run to see what is removed")
	}
	l.env.Say("This removes node %s from the cluster at %s. What is removed:\n  %s", record.Node, record.Cluster.Server, strings.Join(goes, "\n  "))
	fmt.Fprint(l.env.Stderr, "Type \"leave\" to go on: ")
	answer, err := bufio.NewReader(l.env.Stdin).ReadString('\n')
	if err != nil || strings.TrimSpace(answer) != "leave" {
		return exit.Fail(exit.Failed, "nothing was changed")
	}
	return nil
}

// leave takes the machine out, once no process supervises its programs.
func (l *machineLeave) leave(ctx context.Context, leaving *join.Leaving) (err error) {
	print := daemon.StepPrinter(l.env.Stderr)
	if leaving.Program, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	var runner *supervise.Supervisor
	err = stage.Run(ctx, print, "Stop the supervisor", func(ctx context.Context) error {
		runner, err = takeOver(ctx, leaving.Place)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, runner.Close()) }()
	leaving.Runner = runner
	for _, s := range leaving.Steps() {
		err := stage.Run(ctx, print, s.Name, s.Do)
		if err != nil && !s.Needless {
			return fmt.Errorf("%w; run the same again to go on", err)
		}
		if err != nil {
			l.env.Say("warning: %s", err)
		}
	}
	l.env.Say("this machine is no longer a node; KQueen removes the node with: kqueen node replace %s, or when its nodepool gets smaller", leaving.Record.Node)
	return nil
}

// takeOverWait is how long the lock of who has ended may take to be free.
const takeOverWait = 200 * time.Millisecond

// takeOver ends who supervises the node's programs, which run on, and supervises them.
func takeOver(ctx context.Context, place join.Place) (*supervise.Supervisor, error) {
	for {
		runner, err := supervise.New(supervise.Config{Dir: string(place), Timing: supervise.Timing{LockWait: takeOverWait}})
		locked, ok := errors.AsType[*supervise.LockedError](err)
		if !ok || locked.PID == 0 {
			return runner, err
		}
		if err := daemon.EndProcess(ctx, "what supervises the node's programs", locked.PID); err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}
