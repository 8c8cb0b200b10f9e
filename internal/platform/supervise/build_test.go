package supervise

import (
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/internal/platform/supervise/programtest"
)

// TestBuild: a program that moves runs on, unless it was known by its path until then, and another build takes the place of
// the one that runs.
func TestBuild(t *testing.T) {
	t.Parallel()
	conf := config(t.TempDir())
	moved := filepath.Join(t.TempDir(), "moved")
	data, err := os.ReadFile(programtest.Path())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(moved, data, 0o700); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name, path, build string
		same              bool // as in the step before
	}{
		{"by its path", programtest.Path(), "", false},
		{"known as a build", programtest.Path(), "1", true},
		{"moved", moved, "1", true},
		{"moved back", programtest.Path(), "1", true},
		{"another build", programtest.Path(), "2", false},
		{"that has moved", moved, "2", true},
		{"by its path again", moved, "", false},
		{"known as a build, elsewhere", programtest.Path(), "2", false},
	}
	last := 0
	for _, step := range steps {
		r := open(t, conf)
		w := server(t, r, "a")
		w.Components[0].Path, w.Components[0].Build = step.path, step.build
		apply(t, r, w)
		pid := await(t, r, "a", Status.Ready).Components[0].PID
		if same := pid == last; same != step.same {
			t.Errorf("%s: process %d after %d, want the same: %t", step.name, pid, last, step.same)
		}
		last = pid
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	open(t, conf)
}
