package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// LockedError says that another supervisor uses the directory.
type LockedError struct {
	Dir string
	PID int // of the holder; 0 when unknown
}

func (e *LockedError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("%s is in use by another KQueen", e.Dir)
	}
	return fmt.Sprintf("%s is in use by another KQueen (pid %d)", e.Dir, e.PID)
}

// takeLock takes the exclusive lock of dir, waiting until ctx ends for a holder that is about to go. The kernel drops
// the lock with the last descriptor.
//
// The descriptor is O_CLOEXEC, as all of Go's are, and that is what makes adoption complete: between clone and exec a
// child still holds a copy, so a successor cannot get the lock while a child of the killed predecessor exists that does
// not carry its marks yet. Without O_CLOEXEC the children would hold the lock for life. (The kernel closes the copy a
// moment before the new environment is in place; scanAll waits for such processes.)
func takeLock(ctx context.Context, dir, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, errors.Join(&LockedError{Dir: dir, PID: lockHolder(f)}, f.Close())
		}
	}
	// The pid is only for the message of the process that comes second; it may be torn.
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock: %w", err), f.Close())
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock: %w", err), f.Close())
	}
	return f, nil
}

func lockHolder(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}
