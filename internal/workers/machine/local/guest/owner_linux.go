package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// first is the host's user that is root of the machine.
func (i *IDs) first() int {
	if i == nil {
		return 0
	}
	return i.First
}

// maps are the machine's users in the form of the kernel.
func (i *IDs) maps() []syscall.SysProcIDMap {
	return []syscall.SysProcIDMap{{ContainerID: 0, HostID: i.First, Size: i.Count}}
}

// namespace opens a user namespace with these ids; -1 for none. What is in it ends at once.
func (i *IDs) namespace() (int, error) {
	if i == nil {
		return -1, nil
	}
	// Traced, it stops before its first instruction.
	pid, _, err := syscall.StartProcess("/proc/self/exe", []string{"users"}, &syscall.ProcAttr{Sys: &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER, UidMappings: i.maps(), GidMappings: i.maps(), Ptrace: true, Pdeathsig: unix.SIGKILL,
	}})
	if err != nil {
		return -1, fmt.Errorf("create a user namespace: %w", err)
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/user", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	ended := unix.Kill(pid, unix.SIGKILL)
	if ended == nil {
		_, ended = unix.Wait4(pid, nil, 0, nil)
	}
	if err == nil && ended == nil {
		return fd, nil
	}
	if err == nil {
		err = unix.Close(fd)
	}
	return -1, fmt.Errorf("open a user namespace: %w", errors.Join(err, ended))
}

// prepare makes the machine's own folders, and gives what an earlier life without users of its own has left in them to the
// machine's users. Nothing may run in the machine.
func (c Config) prepare() error {
	if err := checkTree(c.Tree); err != nil {
		return err
	}
	for _, e := range c.Tree {
		if e.Kind != KindOwn {
			continue
		}
		mode := e.Mode
		if mode == 0 {
			mode = folderMode
		}
		if err := os.MkdirAll(e.Source, folderMode); err != nil {
			return err
		}
		if err := handOver(e.Source, c.IDs); err != nil {
			return fmt.Errorf("give %s to the machine's users: %w", e.Source, err)
		}
		if err := unix.Chmod(e.Source, uint32(mode)); err != nil {
			return err
		}
	}
	return nil
}

// handOver moves what is below dir from the first users of the host to those that stand for them in the machine. The folder
// itself comes last, so that one whose owner is the machine's root is done.
func handOver(dir string, ids *IDs) error {
	if ids == nil {
		return nil
	}
	var st unix.Stat_t
	if err := unix.Lstat(dir, &st); err != nil || int(st.Uid) == ids.First {
		return err
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		return ids.own(path)
	})
	if err != nil {
		return err
	}
	return ids.own(dir)
}

// own moves one file, which keeps its mode and its capabilities, both of which the kernel takes away with the owner.
func (i *IDs) own(path string) error {
	var st unix.Stat_t
	if err := unix.Lstat(path, &st); err != nil {
		return err
	}
	move := func(id uint32) int {
		if int(id) >= i.Count {
			return -1 // the machine's already
		}
		return i.First + int(id)
	}
	uid, gid := move(st.Uid), move(st.Gid)
	if uid < 0 && gid < 0 {
		return nil
	}
	caps := make([]byte, 64)
	n, err := unix.Lgetxattr(path, capability, caps)
	if err != nil {
		n = 0 // it has none, or the file system knows none
	}
	if err := os.Lchown(path, uid, gid); err != nil {
		return err
	}
	const special = unix.S_ISUID | unix.S_ISGID
	if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&special != 0 {
		if err := unix.Chmod(path, st.Mode&0o7777); err != nil {
			return err
		}
	}
	if moved := i.capabilities(caps[:n]); moved != nil {
		return unix.Lsetxattr(path, capability, moved, 0)
	}
	return nil
}

// capability is the attribute with the capabilities that a program brings.
const capability = "security.capability"

// capabilities are those of a program for the machine's root; nil for none. They are numbers of 32 bits, the first with the
// revision, the last of revision 3 the user for whom they hold (include/uapi/linux/capability.h).
func (i *IDs) capabilities(of []byte) []byte {
	const revision2, revision3, mask, size2 = 0x02000000, 0x03000000, 0xff000000, 20
	if len(of) != size2 || binary.LittleEndian.Uint32(of)&mask != revision2 {
		return nil
	}
	flags := binary.LittleEndian.Uint32(of) &^ mask
	out := binary.LittleEndian.AppendUint32(nil, revision3|flags)
	out = append(out, of[4:]...)
	return binary.LittleEndian.AppendUint32(out, uint32(i.First))
}
