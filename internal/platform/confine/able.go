package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/osthread"
)

// Users of programs are in this range: above what directory services map (up to 2,000,200,000 by default), below what
// systemd and two's complement reserve.
const (
	FirstUser = 2_010_000_000
	LastUser  = 2_140_000_000
)

// wanted are the capabilities with which KQueen confines programs, and looks after them when they run under other users.
var wanted = []struct {
	number int
	name   string
}{
	{unix.CAP_CHOWN, "CAP_CHOWN"}, {unix.CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"}, {unix.CAP_FOWNER, "CAP_FOWNER"}, {unix.CAP_KILL, "CAP_KILL"},
	{unix.CAP_SETGID, "CAP_SETGID"}, {unix.CAP_SETUID, "CAP_SETUID"}, {unix.CAP_SETPCAP, "CAP_SETPCAP"},
	{unix.CAP_SYS_ADMIN, "CAP_SYS_ADMIN"}, {unix.CAP_SYS_PTRACE, "CAP_SYS_PTRACE"},
}

// Able returns nil when this process can confine programs on this host, and otherwise why not, in words for the operator.
// scratch is a folder in which it may try.
func Able(scratch string) error {
	if os.Geteuid() != 0 {
		return errors.New("KQueen does not run as root")
	}
	if architecture == 0 {
		return fmt.Errorf("there is no filter of system calls for %s", runtime.GOARCH)
	}
	missing, err := missingCapabilities()
	if err != nil {
		return fmt.Errorf("read the capabilities of KQueen: %w", err)
	}
	if missing != "" {
		return fmt.Errorf("KQueen lacks %s", missing)
	}
	dir, err := os.MkdirTemp(scratch, ".able-")
	if err != nil {
		return fmt.Errorf("try it: %w", err)
	}
	defer os.Remove(dir)
	// A user namespace may not have such users.
	if err := os.Chown(dir, 0, LastUser); err != nil {
		return fmt.Errorf("users from %d are not known here: %w", FirstUser, err)
	}
	return try(Program{Path: "/dev/null", Dir: dir})
}

// try confines a thread that ends, and starts nothing.
func try(p Program) error {
	answer := make(chan error, 1)
	osthread.Spend(func() { answer <- p.Enter() })
	return <-answer
}

// missingCapabilities names what is wanted and not there.
func missingCapabilities() (string, error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return "", err
	}
	var names []string
	for _, c := range wanted {
		if sets[c.number/32].Effective&(1<<(c.number%32)) == 0 {
			names = append(names, c.name)
		}
	}
	return strings.Join(names, ", "), nil
}
