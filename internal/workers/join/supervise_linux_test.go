package join

import (
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
)

// supervisorAt supervises no programs yet.
func supervisorAt(t *testing.T, place Place) *Supervisor {
	t.Helper()
	runner, err := supervise.New(supervise.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := runner.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Supervisor{Place: place, Runner: runner, Log: slog.New(slog.DiscardHandler)}
}

// TestReportIsTriedAgain: how the programs are is written as soon as the disk takes it, although nothing has changed.
func TestReportIsTriedAgain(t *testing.T) {
	place := Place(filepath.Join(t.TempDir(), "node"))
	s := supervisorAt(t, place)
	if err := os.WriteFile(string(place), nil, 0o600); err != nil { // where the folder should be
		t.Fatal(err)
	}
	if err := s.report(t.Context()); err == nil {
		t.Fatal("a status was written where a file is in the way")
	}
	if err := os.Remove(string(place)); err != nil {
		t.Fatal(err)
	}
	if err := s.report(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := machine.Observed{State: machine.Creating, Message: "waiting for the programs to start"}
	if got, err := place.Status(); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

// TestLook: a machine that leaves is let alone, and one whose record is damaged or whose programs are gone says so and
// starts nothing.
func TestLook(t *testing.T) {
	place := Place(t.TempDir())
	s := supervisorAt(t, place)
	if err := s.look(t.Context()); err != nil {
		t.Errorf("without a record: %v", err)
	}
	if _, err := os.Stat(place.file(statusFile)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a machine that leaves gets a status: %v", err)
	}
	if err := place.Save(&Record{Node: "a", Releases: t.TempDir(), Cluster: Cluster{Version: "v1.36.3"}}); err != nil {
		t.Fatal(err)
	}
	if err := s.look(t.Context()); err == nil || !strings.Contains(err.Error(), "the programs of Kubernetes v1.36.3 are not in ") {
		t.Errorf("without programs: %v", err)
	}
	if err := os.WriteFile(place.file(recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.look(t.Context()); err == nil || !strings.Contains(err.Error(), place.file(recordFile)) {
		t.Errorf("with a damaged record: %v", err)
	}
	if ids, err := s.Runner.List(t.Context()); err != nil || len(ids) > 0 {
		t.Errorf("%v were begun, %v", ids, err)
	}
}

// TestProgressOfNoNode: a machine that has not joined says so, and one whose record is damaged names the file.
func TestProgressOfNoNode(t *testing.T) {
	place := Place(t.TempDir())
	if _, err := place.Progress(t.Context()); !errors.Is(err, ErrNotJoined) {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(place.file(recordFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := place.Progress(t.Context()); err == nil || errors.Is(err, ErrNotJoined) || !strings.Contains(err.Error(), recordFile) {
		t.Errorf("a damaged record: %v", err)
	}
}

// TestTaken: a port is taken while another program listens on it, at whatever address.
func TestTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if port := l.Addr().(*net.TCPAddr).Port; !taken(t.Context(), port) {
		t.Errorf("port %d, on which this test listens, is free", port)
	}
	if taken(t.Context(), 0) {
		t.Error("the kernel has no free port")
	}
}
