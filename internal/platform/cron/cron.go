// Package cron has times that are said as cron says them.
//
// It hides the parser, and refuses what is not the same wherever and whenever it is read. What is done at times imports it.
package cron

import (
	"strings"
	"time"
	_ "time/tzdata" // there may be none on the host

	"github.com/robfig/cron/v3"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Schedule are times in a time zone.
type Schedule struct {
	parsed cron.Schedule
	zone   *time.Location
}

// Parse reads a schedule of five fields, or a name such as @daily, and the name of a time zone. Errors are *invalid.Error about the two
// fields that are named. It is pure but for the time zones of the host.
func Parse(field, schedule, zoneField, timeZone string) (Schedule, error) {
	const want = `five fields such as "30 2 * * *", or one of @hourly, @daily, @weekly, @monthly and @yearly`
	// The parser takes a time zone before the fields, and "@every", whose times depend on when one asks.
	if strings.Contains(schedule, "TZ=") || strings.HasPrefix(schedule, "@every") {
		return Schedule{}, invalid.Want(field, "it is none of cron's", want+"; the time zone is in "+zoneField)
	}
	parsed, err := cron.ParseStandard(schedule)
	if err != nil {
		return Schedule{}, invalid.Want(field, err.Error(), want)
	}
	if timeZone == "Local" { // that of the host, whatever it is
		return Schedule{}, invalid.Want(zoneField, "it is no name of a time zone", `one such as "Europe/Prague" or "UTC"`)
	}
	zone, err := time.LoadLocation(timeZone)
	if err != nil {
		return Schedule{}, invalid.Want(zoneField, "it is no name of a time zone", `one such as "Europe/Prague" or "UTC"`)
	}
	s := Schedule{parsed, zone}
	// From a time that is the same always, so that what was taken once is not refused later.
	if parsed.Next(time.Date(2024, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return Schedule{}, invalid.New(field, "there is no such day")
	}
	return s, nil
}

// Next is the first time after another one.
func (s Schedule) Next(after time.Time) time.Time { return s.parsed.Next(after.In(s.zone)) }

// Zone is the time zone.
func (s Schedule) Zone() *time.Location { return s.zone }

// NextIn is the first time after another one if the time zone were that one, such as UTC, in which no hour is left out.
func (s Schedule) NextIn(zone *time.Location, after time.Time) time.Time {
	return s.parsed.Next(after.In(zone))
}
