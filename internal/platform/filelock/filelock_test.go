package filelock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// TestTake: there is one holder, a second process is told who it is and why it waits no longer, and a lock that was given back is free.
func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if pid, held := Holder(path); held || pid != 0 {
		t.Errorf("without a file: %d, %v", pid, held)
	}
	first, err := Take(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(path); !held || pid != os.Getpid() {
		t.Errorf("held: %d, %v", pid, held)
	}
	wait, giveUp := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	_, err = Take(wait, path, func(time.Duration) { giveUp(enough) })
	held, ok := errors.AsType[*HeldError](err)
	if !ok || held.PID != os.Getpid() || !errors.Is(err, enough) {
		t.Errorf("a second holder: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if pid, held := Holder(path); held || pid != 0 {
		t.Errorf("given back: %d, %v", pid, held)
	}
	second, err := Take(wait, path, nil) // a free lock is taken, though the time is up
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

// TestTakeWhileAsked: a process that asks for the holder all the time does not keep others from taking the lock.
func TestTakeWhileAsked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	asking, stop := context.WithCancel(t.Context())
	var asked sync.WaitGroup
	asked.Go(func() {
		for asking.Err() == nil {
			Holder(path)
		}
	})
	for range 100 {
		lock, err := Take(t.Context(), path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Close(); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	asked.Wait()
}
