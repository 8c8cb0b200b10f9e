package supervise

import (
	"errors"
	"fmt"
	"os"
)

// Folder opens a folder that a program of a workload has made in its directory, such as one for logs of its own. What is
// planted there leads nowhere else. The error is fs.ErrNotExist where there is none.
func (s *Supervisor) Folder(id, name string) (folder *os.Root, err error) {
	if err := CheckName("id", id); err != nil {
		return nil, err
	}
	if err := checkPath("folder", name); err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(s.Dir(id))
	if err != nil {
		return nil, fmt.Errorf("open the directory of %s: %w", id, err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return dir.OpenRoot(name)
}
