//go:build linux

package status

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/internal/platform/supervise"
)

// TestSilent: a KQueen that hangs is not one that does not run, and its owner is told which process it is.
func TestSilent(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("with nothing: %v", err)
	}
	s, err := supervise.New(supervise.Config{Dir: filepath.Join(dir, RunFolder)})
	if err != nil {
		t.Fatal(err)
	}
	silent := func(what string) {
		t.Helper()
		_, err := Read(t.Context(), dir)
		if found, ok := errors.AsType[*SilentError](err); !ok || found.PID != os.Getpid() || errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v", what, err)
		}
	}
	silent("before it has a socket")
	listener, err := OnSocket(dir, Name, func(path string) (net.Listener, error) { return net.Listen("unix", path) })
	if err != nil {
		t.Fatal(err)
	}
	go func() { // one that hangs up takes less time than one that hangs
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_ = c.Close()
		}
	}()
	silent("with a socket on which no answer comes")
	if err := errors.Join(listener.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(t.Context(), dir); !errors.Is(err, ErrNotRunning) {
		t.Errorf("when it has ended: %v", err)
	}
}
