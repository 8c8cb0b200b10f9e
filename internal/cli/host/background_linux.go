package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

// startInBackground starts the server in a session of its own and waits until it serves.
func startInBackground(ctx context.Context, e *connection.Env, flags upFlags) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if _, err := flags.config(dir); err != nil {
		return err
	}
	if found, err := status.Read(ctx, dir); err == nil {
		return findRunning(ctx, e, dir, found, flags.timeout)
	}
	begin := time.Now()
	e.Say("Starting KQueen in %s", dir)
	lines, wait, err := daemon.Spawn(dir, "--data-dir", "up", "--foreground", "--data-dir="+dir, "--listen="+flags.listen,
		"--gateway-port="+strconv.Itoa(flags.gatewayPort), "--api-port="+strconv.Itoa(flags.apiPort), "--domain="+flags.domain, "--machine-network="+flags.machineNetwork,
		"--images="+flags.images, "--egress-allow="+strings.Join(flags.egressAllow, ","))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, flags.timeout, exit.Fail(exit.TimedOut, "KQueen does not serve after %s; it goes on in the background; see %s", flags.timeout, daemon.ServerLog(dir)))
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = lines.Close() })()
	if err := daemon.Follow(lines, daemon.StepPrinter(e.Stderr)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(err, io.EOF) {
			return exit.Fail(exit.Failed, "KQueen ended while starting (%v); see %s and %s beside it", wait(), daemon.ServerLog(dir), daemon.LastWords)
		}
		return fmt.Errorf("start KQueen: %w", err)
	}
	e.Say("KQueen is ready after %.1fs. Next:\n  %s\n  export KUBECONFIG=%s   # for kubectl on the admin plane",
		time.Since(begin).Seconds(), e.Command("cluster create demo --wait"), console.ShellQuote(filepath.Join(dir, connection.AdminKubeconfig)))
	if found, err := status.Read(ctx, dir); err == nil {
		warn(e, found)
	}
	inviteAdministrator(ctx, e, dir)
	return nil
}

// lookInterval is the time between two looks at a KQueen that another command is starting.
const lookInterval = 200 * time.Millisecond

// findRunning waits until a KQueen that runs is ready, and fails when it cannot be without its owner.
func findRunning(ctx context.Context, e *connection.Env, dir string, found *status.Status, timeout time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, exit.Fail(exit.TimedOut, "KQueen (pid %d) runs in %s, and is not ready after %s; see: %s", found.PID, dir, timeout, e.Command("status")))
	defer cancel()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for !found.Ready && !found.Stalled {
		select {
		case <-look.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		var err error
		if found, err = status.Read(ctx, dir); err != nil {
			return fmt.Errorf("wait for KQueen: %w", err)
		}
	}
	if !found.Ready {
		return exit.Fail(exit.Failed, "KQueen (pid %d) runs in part in %s: %s", found.PID, dir, strings.Join(found.Problems, "; "))
	}
	e.Say("KQueen is running already (pid %d) in %s", found.PID, dir)
	warn(e, found)
	inviteAdministrator(ctx, e, dir)
	return nil
}

// warn tells what is wrong with a KQueen that serves, and what should be changed about the host.
func warn(e *connection.Env, found *status.Status) {
	for _, warning := range slices.Concat(found.Problems, found.Warnings) {
		e.Say("warning: %s", warning)
	}
}
