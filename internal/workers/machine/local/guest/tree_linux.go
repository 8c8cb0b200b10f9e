package guest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Names on the stage: the machine's own root, and what process 1 may only mount where the host's are to be seen.
const (
	stageTree = "tree"
	stageProc = "proc"
	stageSys  = "sys"
)

// The modes of what is made for all of the machine's users to see.
const (
	folderMode = 0o755
	fileMode   = 0o644
)

// tree makes the file system of a machine below root.
type tree struct {
	root string
	ids  *IDs
	// users is the user namespace with the machine's ids as an open file; -1 where it has the host's.
	users int
}

// stage makes the machine's file system on a folder, for the calling thread alone, and makes that the thread's root: nothing
// else of the host's files is left to it. The thread has to have mounts and a root of its own.
func (c Config) stage() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := os.MkdirAll(c.Stage, 0o700); err != nil {
		return err
	}
	root := filepath.Join(c.Stage, stageTree)
	for _, dir := range []string{c.Stage, root} {
		if err := os.MkdirAll(dir, folderMode); err != nil {
			return err
		}
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
			return fmt.Errorf("mount the machine's root: %w", err)
		}
	}
	users, err := c.IDs.namespace()
	if err != nil {
		return err
	}
	err = tree{root: root, ids: c.IDs, users: users}.grow(append(c.Tree, toolEntries(c.Tools)...))
	if users >= 0 {
		err = errors.Join(err, unix.Close(users))
	}
	if err != nil {
		return err
	}
	// To the machine's users its folders belong to none of them. Read-only, they could not be shown to a pod at all that asks
	// for hostPath "/": from a namespace with less rights, as theirs, that cannot be undone, and runc would have to.
	if c.IDs == nil {
		if err := unix.Mount("", root, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV, ""); err != nil {
			return fmt.Errorf("make the machine's root read-only: %w", err)
		}
	}
	for _, name := range []string{stageProc, stageSys} {
		dir := filepath.Join(c.Stage, name)
		if err := os.MkdirAll(dir, folderMode); err != nil {
			return err
		}
		if err := unix.Mount("/"+name, dir, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("show /%s to process 1: %w", name, err)
		}
	}
	if err := linkLibraries(c.Stage); err != nil {
		return err
	}
	return changeRoot(c.Stage)
}

// linkLibraries shows the machine's libraries where process 1 begins: there the kernel looks for the loader of a program
// that is not static.
func linkLibraries(stage string) error {
	for _, name := range []string{"lib", "lib64", "usr"} {
		if err := os.Symlink(filepath.Join(stageTree, name), filepath.Join(stage, name)); err != nil {
			return fmt.Errorf("show /%s to process 1: %w", name, err)
		}
	}
	return nil
}

// changeRoot makes a mount the root of all that has the caller's, and lets the old one go.
func changeRoot(dir string) error {
	if err := unix.Chdir(dir); err != nil {
		return fmt.Errorf("enter %s: %w", dir, err)
	}
	// Of the same folder: the old root comes to lie upon the new one (pivot_root(2), "pivot_root(".", ".")").
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("make %s the root: %w", dir, err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("let the old root go: %w", err)
	}
	return unix.Chdir("/")
}

// grow makes all entries.
func (t tree) grow(entries []Entry) error {
	for _, e := range entries {
		err := t.make(e)
		if e.Optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("make %s of the machine (%s): %w", e.Target, e.Kind, err)
		}
	}
	return nil
}

func (t tree) make(e Entry) error {
	at := filepath.Join(t.root, e.Target)
	if err := os.MkdirAll(filepath.Dir(at), folderMode); err != nil {
		return err
	}
	switch e.Kind {
	case KindFolder:
		return os.MkdirAll(at, cmp.Or(e.Mode, folderMode))
	case KindText:
		return os.WriteFile(at, []byte(e.Text), cmp.Or(e.Mode, fileMode))
	case KindCopy:
		data, err := os.ReadFile(e.Source)
		if err != nil {
			return err
		}
		return os.WriteFile(at, data, fileMode)
	case KindLink:
		return os.Symlink(e.Source, at)
	case KindReadOnly:
		return t.bind(e.Source, at, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
	case KindShown:
		return t.show(e.Source, at)
	case KindDevice:
		return t.bind(e.Source, at, unix.MS_NOSUID|unix.MS_NOEXEC)
	case KindOwn:
		return t.bind(e.Source, at, 0)
	case KindTmpfs:
		if err := os.MkdirAll(at, folderMode); err != nil {
			return err
		}
		options := fmt.Sprintf("mode=%04o,uid=%d,gid=%d", cmp.Or(e.Mode, folderMode), t.ids.first(), t.ids.first())
		return unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	}
	return fmt.Errorf("%q is no kind of entry", e.Kind)
}

// bind shows a file or folder of the host at another place. What is mounted below it is not shown.
func (t tree) bind(source, at string, flags uintptr) error {
	if err := makeTarget(source, at); err != nil {
		return err
	}
	if err := unix.Mount(source, at, "", unix.MS_BIND, ""); err != nil {
		return err
	}
	if flags == 0 {
		return nil
	}
	return unix.Mount("", at, "", unix.MS_REMOUNT|unix.MS_BIND|flags, "")
}

// show binds a file or folder so that the machine reads what root of the host may read: programs and configuration lie in
// folders that are closed to all other users.
func (t tree) show(source, at string) error {
	if t.users < 0 {
		return t.bind(source, at, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV)
	}
	if err := makeTarget(source, at); err != nil {
		return err
	}
	fd, err := unix.OpenTree(unix.AT_FDCWD, source, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open %s: %w", source, err)
	}
	defer unix.Close(fd)
	attr := unix.MountAttr{
		Attr_set:  unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV | unix.MOUNT_ATTR_IDMAP,
		Userns_fd: uint64(t.users),
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return fmt.Errorf("the file system of %s does not show files under other users (idmapped mounts, Linux 5.12): %w", source, err)
	}
	return unix.MoveMount(fd, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// makeTarget makes what something is mounted on: a folder takes a folder alone, and a file a file.
func makeTarget(source, at string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(at, folderMode)
	}
	file, err := os.OpenFile(at, os.O_RDONLY|os.O_CREATE, fileMode)
	if err != nil {
		return err
	}
	return file.Close()
}

// below says whether a target of a tree is a folder or lies in it.
func below(target, dir string) bool {
	return target == dir || strings.HasPrefix(target, strings.TrimSuffix(dir, "/")+"/")
}

// checkTree refuses a tree in which something lies in a folder that is the machine's own: what is in such a folder was
// written from within, and could lead what is made by the host elsewhere.
func checkTree(entries []Entry) error {
	for _, own := range entries {
		if own.Kind != KindOwn {
			continue
		}
		for _, e := range entries {
			if e.Target != own.Target && below(e.Target, own.Target) {
				return fmt.Errorf("%s of the machine lies in %s, which can be changed from within", e.Target, own.Target)
			}
		}
	}
	return nil
}
