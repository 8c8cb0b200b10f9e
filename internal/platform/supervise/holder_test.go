package supervise

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHolder: the lock tells who supervises, and asking does not take it.
func TestHolder(t *testing.T) {
	conf := config(t.TempDir())
	if pid, held := Holder(conf.Dir); held || pid != 0 {
		t.Errorf("before: %d, %v", pid, held)
	}
	s := open(t, conf)
	if pid, held := Holder(conf.Dir); !held || pid != os.Getpid() {
		t.Errorf("while it runs: %d, %v", pid, held)
	}
	if err := os.WriteFile(filepath.Join(conf.Dir, lockFile), []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(conf.Dir); !held || pid != 0 {
		t.Errorf("with another process in the file: %d, %v", pid, held)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(conf.Dir); held || pid != 0 {
		t.Errorf("after: %d, %v", pid, held)
	}
}
