package confine

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Program is what one program is confined to. It runs as a user of its own; the supervisor changes to it.
type Program struct {
	Path   string   // of the program, absolute
	Dir    string   // where it runs: it reads the files of its group there, and writes none
	Writes []string // folders of the host that it writes; each belongs to its user
}

// Enter confines the calling thread, which must be one of osthread.Spend: it cannot be used for anything else afterwards.
// What is missing for a program to start is still there: the thread is root's, and has its capabilities until the program
// runs under another user.
func (p Program) Enter() error {
	if err := p.view(); err != nil {
		return fmt.Errorf("hide the host's files: %w", err)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := filter(); err != nil {
		return fmt.Errorf("filter system calls: %w", err)
	}
	return nil
}

// dropCapabilities empties the sets from which a program that is executed could get capabilities again. Those that the
// thread has go with its user.
func dropCapabilities() error {
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && c > 0 {
			break // past the last one that this kernel knows
		}
		if err != nil {
			return fmt.Errorf("capability %d: %w", c, err)
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient ones: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // version 3 has two words of each
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return fmt.Errorf("read the sets: %w", err)
	}
	sets[0].Inheritable, sets[1].Inheritable = 0, 0
	if err := unix.Capset(&header, &sets[0]); err != nil {
		return fmt.Errorf("inheritable ones: %w", err)
	}
	return nil
}
