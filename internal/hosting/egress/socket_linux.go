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

// Listen opens the socket in dir, in place of one that is there: an earlier life has left it, or another process takes this one's
// place. At no moment there is none.
func Listen(dir string) (net.Listener, error) {
	var l *net.UnixListener
	err := within(dir, func(short string) error {
		made := short + "~"
		if err := os.Remove(made); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		open, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: made})
		l = open
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false) // its short name means another directory by then
		// An API server that runs under a user of its own has the group of the folder.
		return errors.Join(os.Chmod(made, 0o660), os.Rename(made, short))
	})
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, fmt.Errorf("listen at %s: %w", filepath.Join(dir, Socket), err)
	}
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
