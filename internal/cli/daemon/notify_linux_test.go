package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// manager is a service manager's socket.
func manager(t *testing.T) (path string, words chan string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	words = make(chan string, 1000)
	go func() {
		buffer := make([]byte, 64)
		for {
			n, err := conn.Read(buffer)
			if err != nil {
				return
			}
			words <- string(buffer[:n])
		}
	}()
	return path, words
}

// TestManager: the manager hears of a service that works, hears nothing of one that does not, and hears of it again.
func TestManager(t *testing.T) {
	path, words := manager(t)
	t.Setenv(notifyVariable, path)
	t.Setenv(watchdogVariable, "30000")
	t.Setenv(watchdogPID, strconv.Itoa(os.Getpid()))
	m, err := OpenManager()
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv(notifyVariable)+os.Getenv(watchdogVariable)+os.Getenv(watchdogPID) != "" {
		t.Error("programs that this one starts would speak for it")
	}
	if err := m.Tell(t.Context(), "READY=1"); err != nil {
		t.Fatal(err)
	}
	if word := <-words; word != "READY=1" {
		t.Errorf("it heard %q", word)
	}
	works := func(context.Context) error { return nil }
	block := make(chan struct{})
	defer close(block)
	for name, alive := range map[string]func(context.Context) error{
		"says that it does not": func(context.Context) error { return errors.New("stuck") },
		"does not say":          func(context.Context) error { <-block; return nil },
	} {
		if err := m.look(t.Context(), alive); err == nil {
			t.Errorf("a service that %s is taken to work", name)
		}
	}
	if err := m.Tell(t.Context(), "STOPPING=1"); err != nil {
		t.Fatal(err)
	}
	if word := <-words; word != "STOPPING=1" {
		t.Errorf("of a service that does not work it heard %q", word)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		m.Watch(ctx, works, slog.New(slog.DiscardHandler))
		close(ended)
	}()
	for range 3 {
		if word := <-words; word != "WATCHDOG=1" {
			t.Errorf("it heard %q", word)
		}
	}
	cancel()
	<-ended
}

// TestNoManager: without one nothing is told, and a watchdog of another process is none of ours.
func TestNoManager(t *testing.T) {
	m, err := OpenManager()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Tell(t.Context(), "READY=1"); err != nil {
		t.Error(err)
	}
	m.Watch(t.Context(), func(context.Context) error { t.Error("it looks"); return nil }, slog.New(slog.DiscardHandler))
	t.Setenv(watchdogVariable, "1000000")
	t.Setenv(watchdogPID, "1")
	if m, err := OpenManager(); err != nil || m.every != 0 {
		t.Errorf("every %v, %v", m.every, err)
	}
	t.Setenv(watchdogVariable, "soon")
	if _, err := OpenManager(); err == nil {
		t.Error("want an error for what is no number")
	}
}
