package clusteraccess

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

func TestReadCredential(t *testing.T) {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	path := t.TempDir() + "/credential"
	for text, want := range map[string]bool{
		`{"token":"t","expiresAt":"2030-01-01T00:10:00Z"}`: true,
		`{"token":"t","expiresAt":"2030-01-01T00:02:00Z"}`: false,
		`{"token":"t","expiresAt":"2029-01-01T00:00:00Z"}`: false,
		`{"token":"","expiresAt":"2030-01-01T00:10:00Z"}`:  false,
		`{"token":"t","exp`: false,
		``:                  false,
	} {
		if err := atomicfile.Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readCredential(path, now) != nil; got != want {
			t.Error(cmp.Diff(want, got), text)
		}
	}
}
