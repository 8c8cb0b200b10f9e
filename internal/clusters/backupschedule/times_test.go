package backupschedule

import (
	"errors"
	"strings"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/invalid"
)

func at(t testing.TB, text string) time.Time {
	t.Helper()
	moment, err := time.Parse("2006-01-02 15:04", text)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func TestParseTimes(t *testing.T) {
	for name, c := range map[string]struct{ schedule, zone, field, want string }{
		"Fields":     {"30 2 * * 1-5", "Europe/Prague", "", ""},
		"Named":      {"@weekly", "UTC", "", ""},
		"Quarters":   {"*/15 * * * *", "UTC", "", ""},
		"Leap":       {"0 0 29 2 *", "UTC", "", ""},
		"TooOften":   {"*/5 * * * *", "UTC", "spec.schedule", "two times are 5m0s apart and have to be at least 15m0s"},
		"OnceOften":  {"0,1 3 1 * *", "UTC", "spec.schedule", "two times are 1m0s apart"},
		"OverHours":  {"0,50 * * * *", "UTC", "spec.schedule", "two times are 10m0s apart"},
		"Never":      {"0 0 31 2 *", "UTC", "spec.schedule", "there is no such day"},
		"SixFields":  {"0 0 0 * * *", "UTC", "spec.schedule", "want five fields"},
		"Empty":      {"", "UTC", "spec.schedule", "want five fields"},
		"Every":      {"@every 1h", "UTC", "spec.schedule", "want five fields"},
		"ZoneInside": {"CRON_TZ=UTC 0 0 * * *", "UTC", "spec.schedule", "the time zone is in spec.timeZone"},
		"NoZone":     {"@daily", "Prague", "spec.timeZone", `want one such as "Europe/Prague"`},
		"HostsZone":  {"@daily", "Local", "spec.timeZone", "it is no name of a time zone"},
		"FileOfHost": {"@daily", "../../etc/passwd", "spec.timeZone", "it is no name of a time zone"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTimes(c.schedule, c.zone)
			if c.field == "" && err == nil {
				return
			}
			bad, ok := errors.AsType[*invalid.Error](err)
			if !ok || bad.Field != c.field || !strings.Contains(bad.Detail(), c.want) {
				t.Errorf("got %v, want %s: %s", err, c.field, c.want)
			}
		})
	}
}

func TestDue(t *testing.T) {
	for name, c := range map[string]struct{ schedule, zone, last, now, want string }{
		"NotYet":        {"@daily", "UTC", "2026-11-26 00:00", "2026-11-26 23:59", ""},
		"OnTime":        {"@daily", "UTC", "2026-11-26 00:00", "2026-11-27 00:00", "2026-11-27 00:00"},
		"Late":          {"@daily", "UTC", "2026-11-26 00:00", "2026-11-27 05:00", "2026-11-27 00:00"},
		"MissedWeek":    {"@daily", "UTC", "2026-11-20 00:00", "2026-11-27 05:00", "2026-11-27 00:00"},
		"MissedYears":   {"@yearly", "UTC", "2019-06-01 00:00", "2026-11-27 05:00", "2026-01-01 00:00"},
		"MissedMinutes": {"*/15 * * * *", "UTC", "2016-01-01 00:00", "2026-11-27 05:07", "2026-11-27 05:00"},
		"JustCreated":   {"@hourly", "UTC", "2026-11-26 10:30", "2026-11-26 10:31", ""},
		"InItsZone":     {"30 2 * * *", "Europe/Prague", "2026-11-26 00:00", "2026-11-26 02:00", "2026-11-26 01:30"},
		// On 2027-03-28 there is no half past two in Prague, and on 2026-10-25 there are two, each of which counts.
		"ClocksForward": {"30 2 * * *", "Europe/Prague", "2027-03-27 12:00", "2027-03-28 12:00", ""},
		"ClocksBack":    {"30 2 * * *", "Europe/Prague", "2026-10-24 12:00", "2026-10-25 12:00", "2026-10-25 01:30"},
	} {
		t.Run(name, func(t *testing.T) {
			times, err := ParseTimes(c.schedule, c.zone)
			if err != nil {
				t.Fatal(err)
			}
			due, is := times.Due(at(t, c.last), at(t, c.now))
			got := ""
			if is {
				got = due.UTC().Format("2006-01-02 15:04")
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// FuzzParseTimes: no text makes it panic or go on for long, and what it takes has times that are far enough apart.
func FuzzParseTimes(f *testing.F) {
	for _, s := range []string{"30 2 * * *", "@daily", "*/15 0-23/2 1,15 JAN-MAR MON", "TZ=", "0 0 31 2 *", "* * * * * *", "60 24 32 13 8"} {
		f.Add(s, "Europe/Prague")
	}
	f.Fuzz(func(t *testing.T, schedule, zone string) {
		times, err := ParseTimes(schedule, zone)
		if err != nil {
			if _, ok := errors.AsType[*invalid.Error](err); !ok {
				t.Errorf("%q %q: %v is no error of the input", schedule, zone, err)
			}
			return
		}
		now := at(t, "2026-11-26 10:31")
		if due, is := times.Due(now.AddDate(-1, 0, 0), now); is && due.After(now) {
			t.Errorf("%q is due at %s, which is after %s", schedule, due, now)
		}
	})
}
