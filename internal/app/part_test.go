//go:build linux

package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/hosting/release/releasetest"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/server/status"
)

// broken is an engine that does not come up.
type broken struct {
	existing

	why *atomic.Pointer[error]
}

func (b broken) Up(context.Context, engine.Host) (*engine.Plane, error) { return nil, *b.why.Load() }

// TestRunInPart: while the engine lacks what only the owner can put back, the status answers and says so, and the engine is tried
// again; an error of another kind ends the installation.
func TestRunInPart(t *testing.T) {
	why := &atomic.Pointer[error]{}
	damage := error(&atomicfile.DamagedError{Path: "/data/keys/store.json", Problem: "is gone", Remedy: "restore it from a backup"})
	why.Store(&damage)
	told := make(chan error, 1)
	dir := filepath.Join(t.TempDir(), "data")
	a, err := New(t.Context(), Config{
		Engine: broken{why: why}, Dir: dir, Releases: t.TempDir(), Log: slog.New(slog.DiscardHandler), MendInterval: 10 * time.Millisecond,
		Degraded: func(err error) {
			select {
			case told <- err:
			default:
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context(), func() { t.Error("it is ready") }) }()
	select {
	case err := <-told:
		if !errors.Is(err, damage) {
			t.Errorf("the caller is told %v", err)
		}
	case err := <-ended:
		t.Fatalf("it ended: %v", err)
	}
	found := (&damaged{Config: Config{Dir: dir}}).await(t, "an answer", func(*status.Status) bool { return true })
	if found.Ready || !found.Stalled || len(found.Problems) != 1 || !strings.Contains(found.Problems[0], "/data/keys/store.json is gone; restore it from a backup") {
		t.Errorf("the status is %+v", found)
	}
	other := errors.New("no programs")
	why.Store(&other)
	if err := <-ended; !errors.Is(err, other) {
		t.Errorf("it ended with %v, want %v", err, other)
	}
}

// offered is an engine that is told what is installed, and does not come up.
type offered struct {
	existing

	installed chan []release.Binaries
}

func (o offered) Up(_ context.Context, h engine.Host) (*engine.Plane, error) {
	o.installed <- h.Installed
	return nil, errors.New("no programs")
}

// TestDamagedRelease: a release that is damaged keeps no other from being used; the owner is told which it is and what helps.
func TestDamagedRelease(t *testing.T) {
	releases := releasetest.Store(t, "v1.36.3")
	bad := filepath.Join(releases, "v1.35.4")
	if err := errors.Join(os.Mkdir(bad, 0o700), os.WriteFile(filepath.Join(bad, "release.json"), []byte("{"), 0o600)); err != nil {
		t.Fatal(err)
	}
	installed := make(chan []release.Binaries, 1)
	a, err := New(t.Context(), Config{
		Engine: offered{installed: installed}, Dir: filepath.Join(t.TempDir(), "data"), Releases: releases, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	err = a.Run(t.Context(), func() { t.Error("it is ready") })
	if !errors.Is(err, release.ErrDamaged) {
		t.Errorf("it ended with %v, which does not say that a release is damaged", err)
	}
	if got := <-installed; len(got) != 1 || got[0].Version.String() != "v1.36.3" {
		t.Errorf("the engine may use %v, want v1.36.3 alone", got)
	}
	if said := a.problems.list(); len(said) != 1 || !strings.Contains(said[0], "v1.35.4") || !strings.Contains(said[0], "build it again with: kqueen release build") {
		t.Errorf("the owner is told %q", said)
	}
}
