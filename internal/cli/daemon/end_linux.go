package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/cli/exit"
)

// stopTimeout is how long a server may take to end after it was asked to.
const stopTimeout = 30 * time.Second

// hungTimeout is how long a server that does not answer may take to end before it is killed.
const hungTimeout = 5 * time.Second

// EndProcess asks a process to end and waits until it has. what tells the user which process it is.
func EndProcess(ctx context.Context, what string, pid int) error {
	return endProcess(ctx, what, pid, syscall.SIGTERM, stopTimeout)
}

// EndHungProcess is EndProcess for one that does not answer: it is killed when it does not end soon.
func EndHungProcess(ctx context.Context, what string, pid int) error {
	err := endProcess(ctx, what, pid, syscall.SIGTERM, hungTimeout)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return endProcess(ctx, what, pid, syscall.SIGKILL, stopTimeout)
}

// endProcess sends a signal and waits. A pidfd keeps the signal from hitting the process that gets the number next.
func endProcess(ctx context.Context, what string, pid int, signal syscall.Signal, within time.Duration) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find %s (pid %d): %w", what, pid, err)
	}
	process := os.NewFile(uintptr(fd), "process")
	defer process.Close()
	if err := unix.PidfdSendSignal(fd, signal, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("stop %s (pid %d): %w", what, pid, err)
	}
	poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for deadline := time.Now().Add(within); time.Now().Before(deadline) && ctx.Err() == nil; {
		n, err := unix.Poll(poll, int(time.Second/time.Millisecond))
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for %s (pid %d): %w", what, pid, err)
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("wait for %s (pid %d): %w", what, pid, context.Cause(ctx))
	}
	return exit.Fail(exit.TimedOut, "%s (pid %d) did not end within %s", what, pid, within)
}
