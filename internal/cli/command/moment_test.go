package command

import (
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	// A Wednesday.
	now := time.Date(2026, 11, 25, 10, 30, 0, 0, time.FixedZone("", 3600))
	for text, want := range map[string]string{
		"2026-03-01T09:00:00Z":      "2026-03-01T09:00:00Z",
		"2026-03-01t09:00:00+02:00": "2026-03-01T07:00:00Z",
		"2026-03-01":                "2026-03-01T00:00:00Z",
		"now":                       "2026-11-25T09:30:00Z",
		"Today":                     "2026-11-25T00:00:00Z",
		"yesterday":                 "2026-11-24T00:00:00Z",
		"last  Tuesday":             "2026-11-24T00:00:00Z",
		"last wednesday":            "2026-11-18T00:00:00Z",
		"last thursday":             "2026-11-19T00:00:00Z",
		"36h":                       "2026-11-23T21:30:00Z",
		"1h30m ago":                 "2026-11-25T08:00:00Z",
		"7d":                        "2026-11-18T09:30:00Z",
		"2w ago":                    "2026-11-11T09:30:00Z",
		"0d":                        "2026-11-25T09:30:00Z",
		"":                          "", "soon": "", "last": "", "last day": "", "d": "", "-7d": "", "-1h": "", "99999999999d": "", "9999999d": "", "7": "", "2026-13-01": "",
		"2026-11-26": "", "2026-11-25T10:30:00Z": "",
	} {
		at, err := Moment(text, now)
		got := ""
		if err == nil {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
}
