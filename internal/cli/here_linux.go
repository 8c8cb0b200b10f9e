package cli

import (
	"bytes"

	"kqueen.io/kqueen/internal/app"
)

// isHere says whether an installation is the one in the data directory. Who cannot read its keys does not know.
func (e *env) isHere(k knownAs) bool {
	dir, err := e.absoluteDataDir()
	if err != nil || k.Authority == "" {
		return false
	}
	authority, err := app.DoorAuthority(dir)
	return err == nil && bytes.Contains([]byte(k.Authority), bytes.TrimSpace(authority))
}
