package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"time"
)

// Variables of systemd's protocol for services: sd_notify(3), sd_watchdog_enabled(3).
const (
	notifyVariable   = "NOTIFY_SOCKET"
	watchdogVariable = "WATCHDOG_USEC"
	watchdogPID      = "WATCHDOG_PID"
)

// Manager is the service manager that has started this process, if there is one and it wants to be told.
type Manager struct {
	address string
	// every is how often it wants to hear that the service works; 0 for not at all.
	every time.Duration
}

// OpenManager finds the service manager, and keeps it from the programs that this one starts.
func OpenManager() (*Manager, error) {
	m := &Manager{address: os.Getenv(notifyVariable)}
	text, pid := os.Getenv(watchdogVariable), os.Getenv(watchdogPID)
	for _, name := range []string{notifyVariable, watchdogVariable, watchdogPID} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	if text == "" || pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return m, nil
	}
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil || micros <= 0 {
		return nil, fmt.Errorf("%s: %q is not a number of microseconds", watchdogVariable, text)
	}
	m.every = time.Duration(micros) * time.Microsecond
	return m, nil
}

// There says whether there is a manager.
func (m *Manager) There() bool { return m.address != "" }

// Tell sends one word to the manager: READY=1, STOPPING=1, WATCHDOG=1. Without a manager it does nothing.
func (m *Manager) Tell(ctx context.Context, word string) error {
	if m.address == "" {
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unixgram", m.address)
	if err != nil {
		return fmt.Errorf("tell the service manager %s: %w", word, err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(word)); err != nil {
		return fmt.Errorf("tell the service manager %s: %w", word, err)
	}
	return nil
}

// tries is how often within its time the manager is told, so that one look that comes too late does not end the service.
const tries = 3

// Watch tells the manager again and again that the service works, until ctx ends, and only when alive says so in time: the
// manager ends and restarts one of which it hears nothing.
func (m *Manager) Watch(ctx context.Context, alive func(context.Context) error, log *slog.Logger) {
	if m.address == "" || m.every == 0 {
		return
	}
	tick := time.NewTicker(m.every / tries)
	defer tick.Stop()
	for {
		err := m.look(ctx, alive)
		if err != nil && ctx.Err() == nil {
			log.Error("the service manager is not told that KQueen works", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// look asks once. A look that hangs itself does not keep the next one from being made.
func (m *Manager) look(ctx context.Context, alive func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, m.every/tries)
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- alive(ctx) }()
	select {
	case err := <-answer:
		if err != nil {
			return err
		}
		return m.Tell(ctx, "WATCHDOG=1")
	case <-ctx.Done():
		return fmt.Errorf("look whether it works: %w", ctx.Err())
	}
}
