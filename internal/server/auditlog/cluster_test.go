package auditlog

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeIsNotWaitedFor: what was a file when the folder was listed can be a pipe when it is read.
func TestPipeIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "audit.log"), 0o600); err != nil {
		t.Fatal(err)
	}
	folder, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := sieve{out: bufio.NewWriter(io.Discard)}
	if err := s.file(folder, "audit.log"); err != nil || s.leftOut != 1 || s.events != 0 {
		t.Errorf("%d events and %d left out, %v", s.events, s.leftOut, err)
	}
}
