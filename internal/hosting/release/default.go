package release

import (
	"fmt"
	"os"
	"path/filepath"
)

// dirVariable names the environment variable that overrides DefaultDir.
const dirVariable = "KQUEEN_RELEASES"

// DefaultDir is where the programs are kept when the user does not say otherwise: one folder per user and
// machine, because programs of one version are the same for every installation. For root it is
// /var/cache/kqueen/releases, otherwise it is in the user's cache directory.
func DefaultDir() (string, error) {
	if dir := os.Getenv(dirVariable); dir != "" {
		return filepath.Abs(dir)
	}
	if os.Geteuid() == 0 {
		return "/var/cache/kqueen/releases", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the folder for releases: %w; name it with %s", err, dirVariable)
	}
	return filepath.Join(cache, "kqueen", "releases"), nil
}
