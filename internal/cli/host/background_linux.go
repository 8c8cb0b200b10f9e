package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
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
		e.Say("KQueen is running already (pid %d) in %s", found.PID, dir)
		warn(e, found)
		inviteAdministrator(ctx, e, dir)
		return nil
	}
	begin := time.Now()
	e.Say("Starting KQueen in %s", dir)
	lines, wait, err := daemon.Spawn(dir, "--data-dir", "up", "--foreground", "--data-dir="+dir, "--listen="+flags.listen,
		"--gateway-port="+strconv.Itoa(flags.gatewayPort), "--api-port="+strconv.Itoa(flags.apiPort), "--domain="+flags.domain, "--machine-network="+flags.machineNetwork,
		"--images="+flags.images)
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

// warn says what should be changed about the host.
func warn(e *connection.Env, found *status.Status) {
	for _, warning := range found.Warnings {
		e.Say("warning: %s", warning)
	}
}
