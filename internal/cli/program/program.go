package program

import (
	"runtime/debug"
)

// released is what releases set: -ldflags "-X kqueen.io/kqueen/internal/cli/program.released=v1.2.3".
var released string

// Version is the version of this program, or "dev".
func Version() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "dev"
}
