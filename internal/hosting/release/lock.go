package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockPoll is how often a waiting process tries again: flock cannot wait for a context.
const lockPoll = 100 * time.Millisecond

// lock waits until this process alone may make what has that name, and clears
// away what crashed ones left of it. The kernel gives the lock back when a process dies,
// so a crash blocks no other process. The file stays: deleting it would let two processes lock two
// files of the same name.
func (s *Store) lock(ctx context.Context, name string, report func(Step)) (unlock func(), err error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(s.dir, "."+name+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := awaitLock(ctx, file, report); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := s.sweep(name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { file.Close() }, nil //nolint:errcheck // closing cannot fail to unlock
}

func awaitLock(ctx context.Context, file *os.File, report func(Step)) error {
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	start := time.Now()
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			return fmt.Errorf("lock %s: %w", filepath.Base(file.Name()), err)
		}
		report(Step{Name: "wait for another process that makes the same", Elapsed: time.Since(start)})
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for another process that makes the same: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
