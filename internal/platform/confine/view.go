package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// shown is what every program sees of the host, at the same path, and cannot write: names and addresses, authorities, time
// zones, libraries, devices that are none. What is not there is left out. Whole folders and not files of them, so that what
// is replaced later is seen.
var shown = []string{
	"/etc", "/run/systemd/resolve", "/usr/share/ca-certificates", "/usr/local/share/ca-certificates", "/usr/share/zoneinfo",
	"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/nix/store", // for a program that is not static
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	"/sys/kernel/mm/transparent_hugepage", // by which Go's memory allocator goes
}

const (
	readOnly = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV
	// scratch is what a program may keep in /tmp, which is empty at each start and counts as its memory.
	scratch = "mode=0755,size=64m"
)

// mount is one thing of the host that the program sees.
type mount struct {
	path  string
	flags uintptr
	fd    int // open since before other mounts hide it
	dir   bool
}

// view gives the calling thread a file system of its own, in which nothing of the host is but what the program needs, at
// the paths where it always is. Its files can so lie in folders that its user may not enter.
func (p Program) view() error {
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS | unix.CLONE_NEWIPC); err != nil {
		return fmt.Errorf("leave the host's mounts: %w", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("part from the host's mounts: %w", err)
	}
	unix.Umask(0o022) // of this thread alone, since it has left the others
	mounts, err := p.open()
	defer func() {
		for _, m := range mounts {
			_ = unix.Close(m.fd)
		}
	}()
	if err != nil {
		return err
	}
	// The new root is built over a folder that is open already.
	root := p.Dir
	if err := unix.Mount("tmpfs", root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, scratch); err != nil {
		return fmt.Errorf("mount an empty root: %w", err)
	}
	for _, m := range mounts {
		if err := m.put(root); err != nil {
			return fmt.Errorf("show %s: %w", m.path, err)
		}
	}
	if err := processes(root); err != nil {
		return err
	}
	tmp := filepath.Join(root, "tmp")
	if err := errors.Join(os.MkdirAll(tmp, 0o755), unix.Chmod(tmp, 0o1777)); err != nil {
		return err
	}
	if err := enter(root); err != nil {
		return err
	}
	unix.Umask(0o077) // the program's
	return nil
}

// open opens all that the program is to see, as it is on the host.
func (p Program) open() (mounts []mount, err error) {
	add := func(path string, flags uintptr) error {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		m := mount{path: path, flags: flags, fd: fd}
		mounts = append(mounts, m)
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		mounts[len(mounts)-1].dir = st.Mode&unix.S_IFMT == unix.S_IFDIR
		return nil
	}
	for _, path := range shown {
		flags := uintptr(readOnly)
		if filepath.Dir(path) == "/dev" {
			flags = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NOEXEC
		}
		if err := add(path, flags); err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) {
			return mounts, fmt.Errorf("open %s: %w", path, err)
		}
	}
	if err := add(p.Dir, readOnly|unix.MS_NOEXEC); err != nil {
		return mounts, fmt.Errorf("open %s: %w", p.Dir, err)
	}
	for _, path := range p.Writes {
		if err := add(path, unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC); err != nil {
			return mounts, fmt.Errorf("open %s: %w", path, err)
		}
	}
	if err := add(p.Path, readOnly); err != nil {
		return mounts, fmt.Errorf("open %s: %w", p.Path, err)
	}
	return mounts, nil
}

// put binds what is open to its path below root. A symlink's path shows what it leads to.
func (m mount) put(root string) error {
	target := filepath.Join(root, m.path)
	if err := makeTarget(target, m.dir); err != nil {
		return err
	}
	// With what is mounted below it, such as names in a container. Of the program's own folder that would be the new root,
	// which lies over it.
	deep := uintptr(0)
	if slices.Contains(shown, m.path) {
		deep = unix.MS_REC
	}
	if err := unix.Mount(opened(m.fd), target, "", unix.MS_BIND|deep, ""); err != nil {
		return err
	}
	return unix.Mount("", target, "", unix.MS_BIND|unix.MS_REMOUNT|m.flags, "")
}

// makeTarget makes what is mounted over, unless it is there.
func makeTarget(path string, dir bool) error {
	if dir {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

func opened(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// processes shows the program its own processes. Linux before 5.8 knows no such view for one mount alone: there it sees of
// others what every user does.
func processes(root string) error {
	host, err := unix.Open("/proc", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open /proc: %w", err)
	}
	defer func() { _ = unix.Close(host) }()
	target := filepath.Join(root, "proc")
	if err := os.MkdirAll(target, 0o755); err != nil {
		return err
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC
	if unix.Mount("proc", target, "proc", flags, "hidepid=invisible") == nil {
		return nil
	}
	if err := unix.Mount(opened(host), target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show processes: %w", err)
	}
	return nil
}

// enter makes root the root of the thread and lets go of the host's.
func enter(root string) error {
	if err := unix.Chdir(root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	// The old root lies over the new one.
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let go of the host's root: %w", err)
	}
	return unix.Chdir("/")
}
