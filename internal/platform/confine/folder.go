package confine

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Share lets every user run a program that its owner alone may, as one that was installed with a umask of 077: it holds no
// secret, and the folder that it is in may stay closed.
func Share(program string) error {
	info, err := os.Stat(program)
	if err != nil || info.Mode().Perm()&0o005 == 0o005 {
		return err
	}
	return os.Chmod(program, info.Mode().Perm()|0o055)
}

// Give makes a folder, unless it is there, and gives it with all that is in it to a user alone. Nothing may run there
// under that user meanwhile. What was copied there as root, such as from a backup, becomes the user's.
//
// The user may have filled the folder: symlinks are left alone, and files that have a second name, which could lead to a
// file of another owner.
func Give(path string, user int) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := fs.WalkDir(root.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return giveOne(root, name, user)
	}); err != nil {
		return fmt.Errorf("give %s to user %d: %w", path, user, err)
	}
	return nil
}

func giveOne(root *os.Root, name string, user int) error {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsDir() && !info.Mode().IsRegular() {
		return err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) == user && int(st.Gid) == user || st.Mode&unix.S_IFMT != unix.S_IFDIR && st.Nlink > 1 {
		return nil
	}
	return f.Chown(user, user)
}
