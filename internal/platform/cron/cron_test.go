package cron

import (
	"strings"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ schedule, zone, want string }{
		{"30 2 * * *", "", ""}, {"@weekly", "Europe/Prague", ""},
		{"30 2 * *", "", "at.schedule: "}, {"@every 5m", "", "at.schedule: it is none of cron's"}, {"TZ=UTC 0 0 * * *", "", "the time zone is in at.zone"},
		{"0 0 30 2 *", "", "at.schedule: there is no such day"}, {"@daily", "Local", "at.zone: it is no name of a time zone"}, {"@daily", "Mars", "at.zone: "},
	} {
		_, err := Parse("at.schedule", c.schedule, "at.zone", c.zone)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: got %v, want %q", c.schedule, c.zone, err, c.want)
		}
	}
}

func TestNext(t *testing.T) {
	s, err := Parse("", "30 2 * * *", "", "Europe/Prague")
	if err != nil {
		t.Fatal(err)
	}
	from := time.Date(2026, time.November, 26, 12, 0, 0, 0, time.UTC)
	if got, want := s.Next(from), time.Date(2026, time.November, 27, 1, 30, 0, 0, time.UTC); !got.Equal(want) || s.Zone().String() != "Europe/Prague" {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.NextIn(time.UTC, from), time.Date(2026, time.November, 27, 2, 30, 0, 0, time.UTC); !got.Equal(want) {
		t.Errorf("got %s, want %s", got, want)
	}
}
