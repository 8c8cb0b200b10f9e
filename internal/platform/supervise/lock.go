package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	// The pid is only for the message of the process that comes second; it may be torn, and on a full disk it is missing.
	if f.Truncate(0) == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return f, nil
}

// Holder says whether a supervisor uses dir, and which process it is; 0 when that is not known. It changes nothing.
func Holder(dir string) (pid int, held bool) {
	f, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return 0, false
	}
	defer f.Close() // which gives back a lock that was free
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	if pid = lockHolder(f); !opens(pid, f) { // what an earlier one has written
		pid = 0
	}
	return pid, true
}

// opens says whether a process has a file open.
func opens(pid int, f *os.File) bool {
	want, err := f.Stat()
	if err != nil {
		return false
	}
	folder := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(folder)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		info, err := os.Stat(filepath.Join(folder, e.Name()))
		return err == nil && os.SameFile(info, want)
	})
}

// lockFile is the supervisor's lock in its directory.
const lockFile = "lock"

func lockHolder(f *os.File) int {
	b := make([]byte, 32)
	n, _ := f.ReadAt(b, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil {
		return 0
	}
	return pid
}
