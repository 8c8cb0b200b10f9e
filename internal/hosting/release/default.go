package release

import (
	"fmt"
	"os"
	"path/filepath"
)

// dirVariable names the environment variable that overrides DefaultDir.
const dirVariable = "KQUEEN_RELEASES"

// systemDir is root's folder, in which every user of the host may read.
const systemDir = "/var/cache/kqueen/releases"

// DefaultDir is where the programs are that are used when the user does not say otherwise: one folder per user and
// machine, because programs of one version are the same for every installation. For root it is
// /var/cache/kqueen/releases, otherwise it is in the user's cache directory, or root's where the user has built none and
// root has.
func DefaultDir() (string, error) { return defaultDir(os.Geteuid() == 0, systemDir) }

func defaultDir(root bool, system string) (string, error) {
	own, err := ownDir(root, system)
	if err != nil || own == system || os.Getenv(dirVariable) != "" {
		return own, err
	}
	if has(own) || !has(system) {
		return own, nil
	}
	return system, nil
}

// OwnDir is where the user's programs are made: DefaultDir, but never another user's.
func OwnDir() (string, error) { return ownDir(os.Geteuid() == 0, systemDir) }

func ownDir(root bool, system string) (string, error) {
	if dir := os.Getenv(dirVariable); dir != "" {
		return filepath.Abs(dir)
	}
	if root {
		return system, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for releases: %w; name it with %s", err, dirVariable)
	}
	return filepath.Join(cache, "kqueen", "releases"), nil
}

// has says whether there is a release in a store that this user can use.
func has(dir string) bool {
	found, _ := NewStore(dir).List() // what is damaged does not count
	return len(found) > 0
}
