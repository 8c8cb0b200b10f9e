package inventory

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
		at, err := moment(text, now)
		got := ""
		if err == nil {
			got = at.Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestParseImage(t *testing.T) {
	const digest = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	for text, want := range map[string]wanted{
		"nginx":                          {"docker.io/library/nginx", "", ""},
		"nginx:1.27":                     {"docker.io/library/nginx", "1.27", ""},
		"grafana/loki:3":                 {"docker.io/grafana/loki", "3", ""},
		"registry.example.com/shop/web":  {"registry.example.com/shop/web", "", ""},
		"registry.example.com:5000/web":  {"registry.example.com:5000/web", "", ""},
		"registry:5000/web:1":            {"registry:5000/web", "1", ""},
		"localhost/web:1":                {"localhost/web", "1", ""},
		"*/log4j*":                       {"*/log4j*", "", ""},
		"quay.io/*:v1":                   {"quay.io/*", "v1", ""},
		digest:                           {"", "", digest},
		"nginx@" + digest:                {"docker.io/library/nginx", "", digest},
		"nginx:1.27@" + digest:           {"docker.io/library/nginx", "1.27", digest},
		"sha256":                         {"docker.io/library/sha256", "", ""},
		"sha256:1.27":                    {"docker.io/library/sha256", "1.27", ""},
		"registry.example.com/a/b/c:v@x": {"registry.example.com/a/b/c", "v", "x"},
	} {
		if got := parseImage(text); got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
	}
}
