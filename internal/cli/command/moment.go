package command

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Moments are words for a time of the past, for completion.
func Moments() []string { return []string{"yesterday", "last monday", "24h", "7d"} }

// Moment is the time that a text says: RFC 3339, a date, how long ago, or a word. Days begin at midnight, UTC, as all times of the
// command line. It is pure.
func Moment(text string, now time.Time) (time.Time, error) {
	now = now.UTC()
	at, ok := spelled(strings.ToLower(strings.Join(strings.Fields(text), " ")), now)
	if !ok {
		return time.Time{}, fmt.Errorf("%q has to be a time such as 2026-03-01T09:00:00Z, a date such as 2026-03-01, an age such as 36h or 7d, yesterday, or last tuesday", text)
	}
	if at.After(now) {
		return time.Time{}, fmt.Errorf("%q is in the future", text)
	}
	return at, nil
}

func spelled(text string, now time.Time) (time.Time, bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	switch text {
	case "now":
		return now, true
	case "today":
		return today, true
	case "yesterday":
		return today.AddDate(0, 0, -1), true
	}
	if day, ok := strings.CutPrefix(text, "last "); ok {
		return lastDay(day, today)
	}
	if age, ok := Age(strings.TrimSuffix(text, " ago")); ok {
		return now.Add(-age), true
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if at, err := time.Parse(layout, strings.ToUpper(text)); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// lastDay is the begin of the last day of that name before today.
func lastDay(name string, today time.Time) (time.Time, bool) {
	for back := 1; back <= 7; back++ {
		day := today.AddDate(0, 0, -back)
		if strings.EqualFold(day.Weekday().String(), name) {
			return day, true
		}
	}
	return time.Time{}, false
}

// maxAge is longer than any history; a longer age is a mistake, and would overflow.
const maxAge = 100 * 365 * 24 * time.Hour

// Age reads a duration of Go, or a whole number of days or weeks. It is pure.
func Age(text string) (time.Duration, bool) {
	for unit, length := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		count, ok := strings.CutSuffix(text, unit)
		if n, err := strconv.Atoi(count); ok && err == nil {
			return time.Duration(n) * length, n >= 0 && n <= int(maxAge/length)
		}
	}
	age, err := time.ParseDuration(text)
	return age, err == nil && age >= 0 && age <= maxAge
}
