package host

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/demo"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

const (
	// demoLook is the time between two looks at what a demonstration waits for, and demoNodes how long it waits for nodes: they come by
	// themselves when their programs are built.
	demoLook, demoNodes = 500 * time.Millisecond, 2 * time.Minute
)

// checkDemo says with which flags of `up` no demonstration is made.
func (flags upFlags) checkDemo(cmd *cobra.Command) error {
	if flags.demo && (flags.foreground || flags.systemd) {
		return exit.UsageError(cmd, "--demo cannot be used with --foreground or --systemd; start KQueen with that, and then run: kqueen up --demo")
	}
	return nil
}

// demonstrate fills the installation in the data directory, which runs. What was made before is found.
func demonstrate(ctx context.Context, e *connection.Env, timeout time.Duration) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, exit.Fail(exit.TimedOut, "the demonstration is not complete after %s; go on with: %s", timeout, e.Command("up --demo")))
	defer cancel()
	found, err := status.Read(ctx, dir)
	if err != nil {
		return fmt.Errorf("look at KQueen: %w", err)
	}
	local := *e // errors that follow are not about the installation that the user works with
	api, err := local.Local()
	if err != nil {
		return err
	}
	seed := &demo.Seed{API: api.Client, Users: filepath.Join(dir, app.DemoUsersFile), Look: demoLook, NodesWithin: min(demoNodes, timeout/2), Report: daemon.StepPrinter(e.Stderr)}
	if !found.Demo {
		there, err := seed.Present(ctx)
		if err != nil {
			return err
		}
		if err := demo.Refusal(there); err != nil {
			return err
		}
	}
	begin := time.Now()
	e.Say("Filling it for a demonstration")
	if seed.Access, err = status.NewSimulator(ctx, dir); err != nil {
		return fmt.Errorf("start the simulated clusters: %w", err)
	}
	made, err := seed.Run(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return fmt.Errorf("fill it for a demonstration: %w; go on with: %s", err, e.Command("up --demo"))
	}
	tellDemo(e, made, seed.Users, time.Since(begin))
	return nil
}

// tellDemo says what there is.
func tellDemo(e *connection.Env, made demo.Made, users string, took time.Duration) {
	e.Say("The demonstration is complete after %.1fs:", took.Seconds())
	e.Say("  %d organizations, and %d simulated clusters in them, in which nothing runs", made.Organizations, made.Simulated)
	if made.Without == "" {
		e.Say("  the hosted cluster %s, which is real, with %d nodes", made.Hosted, made.Nodes)
	} else {
		e.Say("  the hosted cluster %s, which is real, without nodes: %s", made.Hosted, made.Without)
	}
	e.Say("  %d users, whose passwords are in %s", made.Users, console.ShellQuote(users))
	e.Say("See them all with:\n  %s\nRemove everything with:\n  %s", e.Command("cluster list --all-organizations"), e.Command("reset"))
}
