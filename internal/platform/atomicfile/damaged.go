package atomicfile

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// DamagedError says that what is at a path is gone, or is not what was written there, and what helps. It is for the owner
// of the machine, and trying again without that does not help.
type DamagedError struct {
	Path string
	// Problem says what is wrong with it, and Remedy what the owner is to do.
	Problem, Remedy string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s %s; %s", e.Path, e.Problem, e.Remedy)
}

// asideMark stands between the name of what was set aside and the time of that.
const asideMark = ".damaged-"

// SetAside renames what is at path, so that another one can be made and this one can be looked at, and returns its new
// name.
func SetAside(path string) (string, error) {
	aside := path + asideMark + time.Now().UTC().Format("20060102T150405.000Z")
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("set %s aside: %w", path, err)
	}
	return aside, nil
}

// Asides is a pattern of [path/filepath.Glob] for what [SetAside] has made of a path.
func Asides(path string) string { return path + asideMark + "*" }

// Keep is [Write], and writes nothing where the file has that content and mode already: a full disk is then no problem. A
// folder in its place is set aside.
func Keep(path string, data []byte, mode fs.FileMode) error {
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		if _, err := SetAside(path); err != nil {
			return err
		}
	}
	if err == nil && info.Mode() == mode {
		if have, err := os.ReadFile(path); err == nil && bytes.Equal(have, data) {
			return nil
		}
	}
	return Write(path, data, mode)
}
