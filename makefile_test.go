package kqueen_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMakefile: what a target runs with a time beside it fails the target, also where it is not the last of several commands: a shell that ends at
// the first failure does not end at one before "&&".
func TestMakefile(t *testing.T) {
	targets := filepath.Join(t.TempDir(), "targets")
	text := "fails:\n\t$(call SECONDS_OF,cd . && false && true,what fails)\npasses:\n\t$(call SECONDS_OF,cd . && true,what passes)\n"
	if err := os.WriteFile(targets, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for target, passes := range map[string]bool{"fails": false, "passes": true} {
		out, err := exec.CommandContext(t.Context(), "make", "-f", "Makefile", "-f", targets, target).CombinedOutput()
		if (err == nil) != passes || strings.Contains(string(out), "✓") != passes {
			t.Errorf("%s: %v, and it says %s", target, err, out)
		}
	}
}
