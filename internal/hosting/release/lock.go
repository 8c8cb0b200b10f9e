package release

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"kqueen.io/kqueen/internal/platform/filelock"
)

// waitStep is what a process does that waits for another one.
const waitStep = "wait for another process that makes the same"

// lock waits until this process alone may make what has that name, and clears away what crashed ones left of it.
func (s *Store) lock(ctx context.Context, name string, report func(Step)) (unlock func(), err error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	file, err := filelock.Take(ctx, s.lockOf(name), func(elapsed time.Duration) { report(Step{Name: waitStep, Elapsed: elapsed}) })
	if held, ok := errors.AsType[*filelock.HeldError](err); ok {
		return nil, fmt.Errorf("%s: %w", waitStep, held.Cause)
	}
	if err != nil {
		return nil, err
	}
	if err := s.sweep(name); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { file.Close() }, nil //nolint:errcheck // closing cannot fail to unlock
}

// lockOf is the lock of what has that name.
func (s *Store) lockOf(name string) string { return filepath.Join(s.dir, "."+name+".lock") }
