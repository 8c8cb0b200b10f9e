package egress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
)

// Listen opens the socket in dir, in place of one that an earlier life has left.
func Listen(dir string) (net.Listener, error) {
	if err := os.Remove(filepath.Join(dir, Socket)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove what an earlier life has left: %w", err)
	}
	var l *net.UnixListener
	err := within(dir, func(short string) error {
		made, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: short})
		l = made
		if err != nil {
			return err
		}
		// An API server that runs under a user of its own has the group of the folder.
		return os.Chmod(short, 0o660)
	})
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, fmt.Errorf("listen at %s: %w", filepath.Join(dir, Socket), err)
	}
	l.SetUnlinkOnClose(false) // its short name means another directory by then
	return l, nil
}

// dialSocket connects to the socket in dir.
func dialSocket(ctx context.Context, dir string) (net.Conn, error) {
	var conn net.Conn
	err := within(dir, func(short string) error {
		made, err := (&net.Dialer{}).DialContext(ctx, "unix", short)
		conn = made
		return err
	})
	return conn, err
}

// within names the socket in dir by the open directory: the kernel takes no name of more than 107 bytes, and
// data directories may be longer than that.
func within(dir string, use func(short string) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(use(fmt.Sprintf("/proc/self/fd/%d/%s", d.Fd(), Socket)), d.Close())
}
