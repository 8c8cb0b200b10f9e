package guest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// makeMounts gives the machine its own mounts. The process is in a mount namespace of its own, so that all
// of them go with the machine's last process, however that ends.
func makeMounts(mounts []Mount, keep []string) error {
	// Whatever is mounted from now on must not show on the host, nor the other way round.
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	kept, err := openAll(keep)
	if err != nil {
		return err
	}
	defer closeAll(kept)
	mounts, below, err := openBelow(mounts)
	if err != nil {
		return err
	}
	defer closeAll(below)
	for _, m := range mounts {
		if err := m.make(); err != nil {
			return fmt.Errorf("mount %s: %w", m.Target, err)
		}
	}
	// The /proc of the host still names open files; the machine's own comes last.
	for _, k := range kept {
		if err := k.show(); err != nil {
			return fmt.Errorf("keep %s: %w", k.path, err)
		}
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

// openBelow opens what lies below overlays, and has them name it so: a mount that is made before may hide its path.
func openBelow(mounts []Mount) ([]Mount, []kept, error) {
	mounts = slices.Clone(mounts)
	var below []kept
	for i, m := range mounts {
		if m.Kind != "overlay" {
			continue
		}
		opened, err := openAll([]string{m.Source})
		if err != nil {
			closeAll(below)
			return nil, nil, err
		}
		below = append(below, opened...)
		mounts[i].Source = opened[0].open()
	}
	return mounts, below, nil
}

func (m Mount) make() error {
	switch m.Kind {
	case "bind":
		if err := os.MkdirAll(m.Source, 0o755); err != nil {
			return err
		}
		return unix.Mount(m.Source, m.Target, "", unix.MS_BIND, "")
	case "tmpfs":
		return unix.Mount("tmpfs", m.Target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755")
	case "overlay":
		return m.makeOverlay()
	}
	return fmt.Errorf("kind %q is not bind, tmpfs or overlay", m.Kind)
}

func (m Mount) makeOverlay() error {
	upper, work := filepath.Join(m.Upper, "upper"), filepath.Join(m.Upper, "work")
	for _, dir := range []string{upper, work, m.Target} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	options := strings.Join([]string{"lowerdir=" + escape(m.Source), "upperdir=" + escape(upper), "workdir=" + escape(work)}, ",")
	return unix.Mount("overlay", m.Target, "overlay", 0, options)
}

// escape writes a path as an option of overlayfs, in which ',' and ':' divide.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`).Replace(path)
}

// kept is a path of the host, held open while mounts hide it.
type kept struct {
	path   string
	fd     int
	id     fileID
	folder bool
}

type fileID struct{ dev, ino uint64 }

// open is a path that leads to it whatever is mounted, as long as /proc is the host's.
func (k kept) open() string { return fmt.Sprintf("/proc/self/fd/%d", k.fd) }

func openAll(paths []string) ([]kept, error) {
	var all []kept
	// A directory comes before what is in it, which is then visible already.
	for _, path := range slices.Sorted(slices.Values(paths)) {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("open %s: %w", path, err)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			closeAll(append(all, kept{fd: fd}))
			return nil, fmt.Errorf("look at %s: %w", path, err)
		}
		all = append(all, kept{path: path, fd: fd, id: fileID{st.Dev, st.Ino}, folder: st.Mode&unix.S_IFMT == unix.S_IFDIR})
	}
	return all, nil
}

func closeAll(all []kept) {
	for _, k := range all {
		_ = unix.Close(k.fd)
	}
}

// show makes the path lead to what it led to before, where a mount hides it.
func (k kept) show() error {
	var st unix.Stat_t
	err := unix.Stat(k.path, &st)
	if err == nil && (fileID{st.Dev, st.Ino}) == k.id {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := k.makeTarget(); err != nil {
		return err
	}
	return unix.Mount(k.open(), k.path, "", unix.MS_BIND|unix.MS_REC, "")
}

// makeTarget makes what the path is mounted on: a folder takes a folder alone, and a file, such as the program of
// process 1, a file.
func (k kept) makeTarget() error {
	if k.folder {
		return os.MkdirAll(k.path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(k.path, os.O_RDONLY|os.O_CREATE, 0o755)
	if err != nil {
		return err
	}
	return file.Close()
}
