// Package filelock lets one process at a time do what a file stands for. The kernel drops the lock with the last descriptor of
// its holder, however that ends, so that a crash blocks no other process. The file stays: deleting it would let two processes
// lock two files of one name.
package filelock

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

// poll is how often a process that waits tries again: flock cannot wait for a context. A process that asks for the holder has
// the lock for a moment, too, so that Take must be given a multiple of this.
const poll = 20 * time.Millisecond

// HeldError says that another process holds the lock.
type HeldError struct {
	Path string
	// PID is the process that holds it; 0 when that is not known.
	PID int
	// Cause is why this process waits no longer.
	Cause error
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another process holds %s: %v", e.Path, e.Cause)
	}
	return fmt.Sprintf("process %d holds %s: %v", e.PID, e.Path, e.Cause)
}

func (e *HeldError) Unwrap() error { return e.Cause }

// Take takes the lock of the file at path, which it makes (mode 0600), and writes the number of this process in it. It waits for
// another holder until ctx ends, which is a *HeldError, and calls waiting, if it is not nil, as long as it waits. Closing the
// file gives the lock back.
//
// The descriptor is O_CLOEXEC, as all of Go's are: a child has a copy between clone and exec, and none for life.
func Take(ctx context.Context, path string, waiting func(elapsed time.Duration)) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	again := time.NewTicker(poll)
	defer again.Stop()
	for begin := time.Now(); ; {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), file.Close())
		}
		if waiting != nil {
			waiting(time.Since(begin))
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, errors.Join(&HeldError{Path: path, PID: written(file), Cause: context.Cause(ctx)}, file.Close())
		}
	}
	// The number is only told to others. It may be torn, and on a full disk it is missing.
	if file.Truncate(0) == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return file, nil
}

// Holder says whether a process holds the lock of the file at path, and which one; 0 when that is not known. It changes nothing.
func Holder(path string) (pid int, held bool) {
	file, err := os.Open(path)
	if err != nil {
		return 0, false
	}
	defer file.Close() // which gives back a lock that was free
	if err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		return 0, false
	}
	if pid = written(file); !opens(pid, file) { // what an earlier holder has written
		pid = 0
	}
	return pid, true
}

// written is the number of a process in a lock; 0 without one.
func written(file *os.File) int {
	text := make([]byte, 32)
	n, _ := file.ReadAt(text, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	if err != nil {
		return 0
	}
	return pid
}

// opens says whether a process has a file open.
func opens(pid int, file *os.File) bool {
	want, err := file.Stat()
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
