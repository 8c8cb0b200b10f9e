package connection

import (
	"path/filepath"
)

// AbsoluteDataDir does not change when the server goes to another folder.
func (e *Env) AbsoluteDataDir() (string, error) {
	dir, err := e.dataDir()
	if err != nil {
		return "", err
	}
	return filepath.Abs(dir)
}
