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

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

// start starts KQueen or finds it running, fills it where that is wanted, and tells how to get in.
func start(ctx context.Context, e *connection.Env, flags upFlags) error {
	if err := startInBackground(ctx, e, flags); err != nil {
		return err
	}
	if flags.demo {
		if err := demonstrate(ctx, e, flags.timeout); err != nil {
			return err
		}
	}
	return invite(ctx, e)
}

// invite tells where the portal is, and how the first administrator gets in.
func invite(ctx context.Context, e *connection.Env) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if found, err := status.Read(ctx, dir); err == nil && found.API != "" {
		e.Say("The portal, for browsers, is at %s%s", found.API, rest.PortalPath)
	}
	inviteAdministrator(ctx, e, dir)
	return nil
}

// startInBackground starts the server in a session of its own and waits until it serves.
func startInBackground(ctx context.Context, e *connection.Env, flags upFlags) error {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	if _, err := flags.config(dir); err != nil {
		return err
	}
	found, err := findKept(ctx, e, dir, flags.timeout)
	if err != nil {
		return err
	}
	if found != nil {
		return findRunning(ctx, e, found, flags)
	}
	warnings, refusal := judgeHost(app.HostFacts(ctx, app.Config{Dir: dir}))
	if refusal != nil {
		return refusal
	}
	for _, warning := range warnings {
		e.Say("warning: %s", warning)
	}
	begin := time.Now()
	e.Say("Starting KQueen in %s", dir)
	lines, wait, err := daemon.StartKeeper(daemon.Keeper{Dir: dir, Args: flags.args(dir)}, "--data-dir")
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
		found.Warnings = unsaid(found.Warnings, warnings)
		warn(e, found)
	}
	if keeper := daemon.FindKeeper(dir); keeper != 0 {
		e.Say("When it crashes, its keeper (pid %d) starts it again. To have it start with the machine, see: kqueen up --help", keeper)
	}
	return nil
}

// lookInterval is the time between two looks at a KQueen that another command is starting.
const lookInterval = 200 * time.Millisecond

// args are those of the server, for its keeper.
func (flags upFlags) args(dir string) []string {
	return []string{
		"up", "--data-dir=" + dir, "--listen=" + flags.listen, "--gateway-port=" + strconv.Itoa(flags.gatewayPort), "--ingress-port=" + strconv.Itoa(flags.ingressPort), "--api-port=" + strconv.Itoa(flags.apiPort),
		"--domain=" + flags.domain, "--machine-network=" + flags.machineNetwork, "--images=" + flags.images, "--egress-allow=" + strings.Join(flags.egressAllow, ","),
		"--import-allow=" + strings.Join(flags.importAllow, ","), "--backup-allow=" + strings.Join(flags.backupAllow, ","),
		"--installation-backup-every=" + flags.ownBackupEvery, "--installation-backups-kept=" + strconv.Itoa(flags.ownBackupsKept),
	}
}

// findKept returns the KQueen that runs, or nil. One that has crashed and has a keeper is waited for.
func findKept(ctx context.Context, e *connection.Env, dir string, timeout time.Duration) (*status.Status, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, exit.Fail(exit.TimedOut, "KQueen, which its keeper starts, does not answer after %s; see %s", timeout, daemon.ServerLog(dir)))
	defer cancel()
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for hurried := 0; ; {
		found, err := status.Read(ctx, dir)
		if err == nil {
			return found, nil
		}
		keeper := daemon.FindKeeper(dir)
		if keeper == 0 {
			return nil, nil
		}
		if errors.Is(err, status.ErrNotRunning) && hurried != keeper {
			e.Say("KQueen does not run in %s; its keeper (pid %d) starts it", dir, keeper)
			hurried = keeper
			if err := daemon.Hurry(keeper); err != nil && !errors.Is(err, unix.ESRCH) {
				return nil, fmt.Errorf("hurry the keeper: %w", err)
			}
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// findRunning waits until a KQueen that runs is ready, and fails when it cannot be without its owner.
func findRunning(ctx context.Context, e *connection.Env, found *status.Status, flags upFlags) error {
	dir, timeout := found.DataDir, flags.timeout
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
		now, err := status.Read(ctx, dir)
		if err != nil && daemon.FindKeeper(dir) == 0 {
			return fmt.Errorf("wait for KQueen: %w", err)
		}
		if err == nil {
			found = now
		}
	}
	if !found.Ready {
		return exit.Fail(exit.Failed, "KQueen (pid %d) runs in part in %s: %s", found.PID, dir, strings.Join(found.Problems, "; "))
	}
	e.Say("KQueen is running already (pid %d) in %s", found.PID, dir)
	if found.RestartedBy == byKeeper && daemon.FindKeeper(dir) == 0 {
		if err := adopt(e, found, flags); err != nil {
			return err
		}
	}
	warn(e, found)
	return nil
}

// adopt starts a keeper for a server whose own one has ended.
func adopt(e *connection.Env, found *status.Status, flags upFlags) error {
	lines, _, err := daemon.StartKeeper(daemon.Keeper{Dir: found.DataDir, Args: flags.args(found.DataDir), Adopt: found.PID}, "--data-dir")
	if err != nil {
		return err
	}
	defer lines.Close()
	if err := daemon.Follow(lines, daemon.StepPrinter(e.Stderr)); err != nil {
		return fmt.Errorf("start the keeper: %w", err)
	}
	e.Say("its keeper had ended, and runs again (pid %d)", daemon.FindKeeper(found.DataDir))
	return nil
}

// unsaid leaves out what is about a setting of the kernel of which the user was warned before. It is pure.
func unsaid(warnings, said []string) []string {
	return slices.DeleteFunc(warnings, func(w string) bool {
		setting, _, _ := strings.Cut(w, " ")
		return slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, setting+":") })
	})
}

// warn tells what is wrong with a KQueen that serves, and what should be changed about the host.
func warn(e *connection.Env, found *status.Status) {
	for _, warning := range slices.Concat(found.Problems, found.Warnings) {
		e.Say("warning: %s", warning)
	}
}
