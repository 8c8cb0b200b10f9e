package atomicfile_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// TestFollower: each file is taken once, and one that is refused or missing changes nothing and is told of once.
func TestFollower(t *testing.T) {
	file := filepath.Join(t.TempDir(), "says")
	var taken []string
	failed := 0
	f := &atomicfile.Follower{
		Path: file,
		Take: func(data []byte) error {
			if string(data) == "bad" {
				return errors.New("bad")
			}
			taken = append(taken, string(data))
			return nil
		},
		Failed: func(error) { failed++ },
	}
	f.Look()
	for _, says := range []string{"one", "bad", "two", "two"} {
		if err := atomicfile.Write(file, []byte(says), 0o600); err != nil {
			t.Fatal(err)
		}
		f.Look()
		f.Look()
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	f.Look()
	if d := cmp.Diff([]string{"one", "two", "two"}, taken); d != "" || failed != 1 {
		t.Errorf("taken (-want +got):\n%s\n%d were refused, want one", d, failed)
	}
}
