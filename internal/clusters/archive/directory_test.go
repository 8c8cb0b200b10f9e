package archive_test

import (
	"testing"

	"kqueen.io/kqueen/internal/clusters/archive"
	"kqueen.io/kqueen/internal/clusters/archive/archivetest"
)

func TestDirectoryContract(t *testing.T) {
	above := t.TempDir()
	archivetest.Contract(t, func(t *testing.T, folder string) archive.Bucket {
		d, err := archive.OpenDirectory(above, folder)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close() })
		return d
	})
}
