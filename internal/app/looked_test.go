//go:build linux

package app

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestTheAPIWaitsForTheFirstLooks: nothing is said of clusters before they were looked at, and a look that does not end keeps
// the API from answering for a moment alone.
func TestTheAPIWaitsForTheFirstLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		looked, began := make(chan struct{}), time.Now()
		time.AfterFunc(3*time.Second, func() { close(looked) })
		if !awaitLooked(t.Context(), looked) || time.Since(began) != 3*time.Second {
			t.Errorf("it answers after %s, want when all were looked at", time.Since(began))
		}
		began = time.Now()
		if !awaitLooked(t.Context(), nil) || time.Since(began) != unlooked {
			t.Errorf("it answers after %s of looks that do not end, want %s", time.Since(began), unlooked)
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if awaitLooked(ended, nil) {
			t.Error("it answers after its end")
		}
	})
}
