package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kqueen.io/kqueen/internal/platform/filelock"
)

// lockFile is the supervisor's lock in its directory.
const lockFile = "lock"

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

// takeLock takes the exclusive lock of dir, waiting until ctx ends for a holder that is about to go.
//
// That it is O_CLOEXEC makes adoption complete: between clone and exec a child still holds a copy, so a successor cannot get the
// lock while a child of the killed predecessor exists that does not carry its marks yet. Without O_CLOEXEC the children would
// hold the lock for life. (The kernel closes the copy a moment before the new environment is in place; scanAll waits for such
// processes.)
func takeLock(ctx context.Context, dir string) (*os.File, error) {
	lock, err := filelock.Take(ctx, filepath.Join(dir, lockFile), nil)
	if held, ok := errors.AsType[*filelock.HeldError](err); ok {
		return nil, &LockedError{Dir: dir, PID: held.PID}
	}
	return lock, err
}

// Holder says whether a supervisor uses dir, and which process it is; 0 when that is not known. It changes nothing.
func Holder(dir string) (pid int, held bool) { return filelock.Holder(filepath.Join(dir, lockFile)) }
