//go:build linux

package app

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheAPIWaitsForTheFirstLooks: nothing is said of clusters before they were looked at, and a look that does not end keeps
// the API from answering for a moment alone.
func TestTheAPIWaitsForTheFirstLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked, began, said := make(chan struct{}), time.Now(), &bytes.Buffer{}
		log := slog.New(slog.NewTextHandler(said, nil))
		time.AfterFunc(3*time.Second, func() { close(looked) })
		if !awaitLooked(t.Context(), looked, log) || time.Since(began) != 3*time.Second || said.Len() > 0 {
			t.Errorf("it answers after %s, want when all were looked at, and says %q", time.Since(began), said)
		}
		began = time.Now()
		if !awaitLooked(t.Context(), nil, log) || time.Since(began) != unlooked || !strings.Contains(said.String(), "before everything was looked at") {
			t.Errorf("it answers after %s of looks that do not end, want %s, and says %q", time.Since(began), unlooked, said)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if awaitLooked(ended, nil, log) {
			t.Error("it answers after its end")
		}
	})
}
