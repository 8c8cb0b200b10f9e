package backupschedule

import (
	"strings"
	"time"
	_ "time/tzdata" // there may be none on the host

	"github.com/robfig/cron/v3"

	"kqueen.io/kqueen/internal/platform/invalid"
)

const (
	// leastApart is the least time between two backups of a schedule: each reads the data store, which other clusters share.
	leastApart = 15 * time.Minute
	// looked is how many times of a schedule are looked at for that: more than a day of every quarter of an hour has.
	looked = 200
)

// Times are when backups are due.
type Times struct {
	schedule cron.Schedule
	zone     *time.Location
}

// ParseTimes reads spec.schedule and spec.timeZone. Errors are *invalid.Error. It is pure but for the time zones of the host.
func ParseTimes(schedule, timeZone string) (Times, error) {
	const want = `five fields such as "30 2 * * *", or one of @hourly, @daily, @weekly, @monthly and @yearly`
	// The parser takes a time zone before the fields, and "@every", whose times depend on when one asks.
	if strings.Contains(schedule, "TZ=") || strings.HasPrefix(schedule, "@every") {
		return Times{}, invalid.Want("spec.schedule", "it is none of cron's", want+"; the time zone is in spec.timeZone")
	}
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return Times{}, invalid.Want("spec.schedule", err.Error(), want)
	}
	if timeZone == "Local" { // that of the host, whatever it is
		return Times{}, invalid.Want("spec.timeZone", "it is no name of a time zone", `one such as "Europe/Prague" or "UTC"`)
	}
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return Times{}, invalid.Want("spec.timeZone", "it is no name of a time zone", `one such as "Europe/Prague" or "UTC"`)
	}
	t := Times{parsed, zone}
	return t, t.check()
}

// check refuses times that never come, and those that come too often.
func (t Times) check() error {
	// In UTC, where no hour is left out, and from a time that is the same always, so that what was taken once is not refused later.
	last := t.schedule.Next(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC))
	if last.IsZero() {
		return invalid.New("spec.schedule", "there is no such day")
	}
	for range looked {
		next := t.schedule.Next(last)
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

// Next is the first time after another one.
func (t Times) Next(after time.Time) time.Time { return t.schedule.Next(after.In(t.zone)) }

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
