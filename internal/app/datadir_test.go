//go:build linux

package app

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/workers/prepare"
)

// TestImagesAreRemembered: what was chosen once holds until something else is said.
func TestImagesAreRemembered(t *testing.T) {
	dir, s := t.TempDir(), &settings{}
	var got []string
	for _, said := range []string{"", prepare.Upstream, "", prepare.Bundled, ""} {
		c := s.merge(Config{Images: said})
		if err := s.save(dir); err != nil {
			t.Fatal(err)
		}
		var err error
		if s, err = loadSettings(dir); err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Images)
	}
	want := []string{"", prepare.Upstream, prepare.Upstream, prepare.Bundled, prepare.Bundled}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDiskAdvice: a user with clusters is not sent to a directory that knows nothing of them.
func TestDiskAdvice(t *testing.T) {
	if got := diskAdvice(true); strings.Contains(got, "--data-dir") {
		t.Errorf("with clusters: %s", got)
	}
	if got := diskAdvice(false); !strings.Contains(got, "--data-dir") {
		t.Errorf("without: %s", got)
	}
}
