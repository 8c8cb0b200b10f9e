package join

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// mounts are the paths at which something is mounted, the oldest first; one is there as often as it is mounted on.
func mounts() ([]string, error) {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	return mountPoints(string(data)), nil
}

// within leaves those mounts that are at one of the paths or below it, but for those that were there before. It is
// pure.
func within(all, paths, before []string) []string {
	in := func(m string) bool {
		return slices.ContainsFunc(paths, func(p string) bool { return m == p || strings.HasPrefix(m, p+"/") })
	}
	return slices.DeleteFunc(slices.Clone(all), func(m string) bool { return !in(m) || slices.Contains(before, m) })
}

// mountPoints reads /proc/self/mountinfo (proc_pid_mountinfo(5)), in which blanks and the like are written as
// octal numbers. It is pure.
func mountPoints(mountinfo string) []string {
	const field = 4
	var all []string
	for line := range strings.Lines(mountinfo) {
		if fields := strings.Fields(line); len(fields) > field {
			all = append(all, unescape(fields[field]))
		}
	}
	return all
}

func unescape(text string) string {
	const digits = 3
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+digits < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+1+digits], 8, 8); err == nil {
				out.WriteByte(byte(n))
				i += digits
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// unmount takes what is mounted at the paths or below them away, the newest first, but for what was before. A mount
// that is in use goes with its last user.
func unmount(paths, before []string) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	for _, m := range slices.Backward(within(all, paths, before)) {
		if err := unix.Unmount(m, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s: %w", m, err)
		}
	}
	return nil
}

// removeAll removes folders and files in which nothing is mounted: what is mounted is not ours.
func removeAll(paths []string) error {
	all, err := mounts()
	if err != nil {
		return err
	}
	if left := within(all, paths, nil); len(left) > 0 {
		return fmt.Errorf("%s is still mounted; nothing is removed around it", left[0])
	}
	for _, p := range paths {
		if err := os.RemoveAll(p); err != nil {
			return fmt.Errorf("remove %s: %w", p, err)
		}
	}
	return nil
}
