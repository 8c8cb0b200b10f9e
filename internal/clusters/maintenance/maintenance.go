// Package maintenance says when a cluster may be changed by what its users have not asked for right now, such as the steps of an upgrade.
//
// It hides how windows and freezes add up. The validator of clusters imports it, and what changes clusters.
package maintenance

import (
	"fmt"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/cron"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Bounds of a window: shorter ones are over before a step has begun, and those of a week or more are always open.
const (
	shortest = 15 * time.Minute
	longest  = 7 * 24 * time.Hour
)

// Calendar is when a cluster may be changed. The zero value is always.
type Calendar struct {
	windows []window
	frozen  time.Time
}

type window struct {
	begins cron.Schedule
	lasts  time.Duration
}

// Parse reads spec.maintenance of a cluster. Errors are *invalid.Error.
func Parse(m *v1alpha1.Maintenance) (Calendar, error) {
	if m == nil {
		return Calendar{}, nil
	}
	c, err := Windows("spec.maintenance", m.Windows, m.TimeZone)
	if m.FreezeEndTime != nil {
		c.frozen = m.FreezeEndTime.Time
	}
	return c, err
}

// Windows reads the windows of a field. Errors are *invalid.Error.
func Windows(of string, windows []v1alpha1.MaintenanceWindow, timeZone string) (Calendar, error) {
	var c Calendar
	for i, w := range windows {
		field := fmt.Sprintf("%s.windows[%d]", of, i)
		begins, err := cron.Parse(field+".schedule", w.Schedule, of+".timeZone", timeZone)
		if err != nil {
			return Calendar{}, err
		}
		lasts := time.Duration(w.DurationSeconds) * time.Second
		if lasts < shortest || lasts > longest {
			return Calendar{}, invalid.New(field+".durationSeconds", "%d s has to be from %d (15 minutes) to %d (7 days)", w.DurationSeconds, int(shortest.Seconds()), int(longest.Seconds()))
		}
		c.windows = append(c.windows, window{begins, lasts})
	}
	return c, nil
}

// Opens is the first time from now on at which the cluster may be changed: now itself when that is so. It is zero when no window opens
// any more. It is pure.
func (c Calendar) Opens(now time.Time) time.Time {
	from := now
	if c.frozen.After(from) {
		from = c.frozen
	}
	if len(c.windows) == 0 {
		return from
	}
	var first time.Time
	for _, w := range c.windows {
		// The first one that has not ended at that time.
		begins := w.begins.Next(from.Add(-w.lasts))
		if begins.IsZero() {
			continue
		}
		if begins.Before(from) {
			begins = from
		}
		if first.IsZero() || begins.Before(first) {
			first = begins
		}
	}
	return first
}

// Ends is when the first one ends of the windows that are open; zero while none is. It is pure.
func (c Calendar) Ends(now time.Time) time.Time {
	var first time.Time
	for _, w := range c.windows {
		begins := w.begins.Next(now.Add(-w.lasts))
		if begins.IsZero() || begins.After(now) {
			continue
		}
		if ends := begins.Add(w.lasts); first.IsZero() || ends.Before(first) {
			first = ends
		}
	}
	return first
}

// Frozen says whether a freeze keeps the cluster from being changed.
func (c Calendar) Frozen(now time.Time) bool { return c.frozen.After(now) }
