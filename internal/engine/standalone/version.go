//go:build linux

package standalone

import (
	"errors"
	"fmt"

	"kqueen.io/kqueen/internal/hosting/release"
)

// choose picks the Kubernetes of the admin plane: the newest to which the one that ran last, if any, may be raised. It is
// pure; installed may be in any order.
func choose(last string, installed []release.Binaries) (release.Binaries, error) {
	var chosen release.Binaries
	for _, b := range installed {
		if last != "" {
			from, err := release.ParseVersion(last)
			if err != nil {
				return release.Binaries{}, fmt.Errorf("version of the admin plane: %w", err)
			}
			if from.Compare(b.Version) != 0 && release.CheckUpgrade(from, b.Version) != nil {
				continue
			}
		}
		if chosen.Version.IsZero() || b.Version.Compare(chosen.Version) > 0 {
			chosen = b
		}
	}
	if chosen.Version.IsZero() && last != "" {
		return chosen, fmt.Errorf("no Kubernetes that can follow %s of the admin plane is on this machine", last)
	}
	if chosen.Version.IsZero() {
		return chosen, errors.New("no Kubernetes is on this machine")
	}
	return chosen, nil
}
