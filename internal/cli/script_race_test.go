//go:build linux && race

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// launcher runs under the race detector what does several things at once: commands that wait, watch, or ask on a terminal.
// All others run without it, three times as fast.
const launcher = `#!/bin/sh
case " $* " in
*" wait "*|*" --wait"*|*" --watch"*|*" -w "*|*" delete "*|*" drain "*|*" replace "*|*" join "*|*" login "*) exec %[1]s "$@" ;;
esac
if [ -t 0 ]; then exec %[1]s "$@"; fi
exec %[2]s "$@"
`

// commandsFrom returns a folder for the front of the path in which kqueen is this test binary, built without the race
// detector where that has nothing to find: most of the time of scripts would go into starting programs.
func commandsFrom(t *testing.T) string {
	t.Helper()
	raced, err := exec.LookPath("kqueen") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain", "kqueen")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-trimpath", "-ldflags", "-s -w", "-o", plain, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build kqueen without the race detector: %v: %s", err, strings.TrimSpace(string(out)))
	}
	commands := filepath.Join(dir, "commands")
	if err := os.Mkdir(commands, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(commands, "kqueen"), fmt.Appendf(nil, launcher, raced, plain), 0o755); err != nil {
		t.Fatal(err)
	}
	return commands
}
