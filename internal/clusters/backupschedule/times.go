package backupschedule

import (
	"time"

	"kqueen.io/kqueen/internal/platform/cron"
	"kqueen.io/kqueen/internal/platform/invalid"
)

const (
	// leastApart is the least time between two backups of a schedule: each reads the data store, which other clusters share.
	leastApart = 15 * time.Minute
	// looked is how many times of a schedule are looked at for that: more than a day of every quarter of an hour has.
	looked = 200
)

// Times are when backups are due.
type Times struct{ cron.Schedule }

// ParseTimes reads spec.schedule and spec.timeZone. Errors are *invalid.Error. It is pure but for the time zones of the host.
func ParseTimes(schedule, timeZone string) (Times, error) {
	parsed, err := cron.Parse("spec.schedule", schedule, "spec.timeZone", timeZone)
	if err != nil {
		return Times{}, err
	}
	t := Times{parsed}
	return t, t.check()
}

// check refuses times that come too often.
func (t Times) check() error {
	// From a time that is the same always, so that what was taken once is not refused later.
	last := t.NextIn(time.UTC, time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC))
	for range looked {
		next := t.NextIn(time.UTC, last)
		if next.IsZero() {
			return nil
		}
		if next.Sub(last) < leastApart {
			return invalid.New("spec.schedule", "two times are %s apart and have to be at least %s", next.Sub(last), leastApart)
		}
		last = next
	}
	return nil
}

// Due is the latest time of the schedule after last and not after now; false when there is none. Of times that were missed, while KQueen did
// not run or the schedule was paused, it is the last one alone. It is pure.
func (t Times) Due(last, now time.Time) (time.Time, bool) {
	// Looked for in what has passed just now first: the times of years are many.
	for _, back := range []time.Duration{time.Hour, 24 * time.Hour, 32 * 24 * time.Hour, 5 * 366 * 24 * time.Hour} {
		from := now.Add(-back)
		if last.After(from) {
			from = last
		}
		due, found := time.Time{}, false
		for at := t.Next(from); !at.IsZero() && !at.After(now); at = t.Next(at) {
			due, found = at, true
		}
		if found || from.Equal(last) {
			return due, found
		}
	}
	return time.Time{}, false
}
