//go:build unix

package connection

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file unless another process has it locked. Closing the file ends it.
func tryLock(file *os.File) (bool, error) {
	err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, unix.EINTR) {
		return false, nil
	}
	return err == nil, err
}
