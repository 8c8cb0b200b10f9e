package kqueen_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
)

// TestVersion: VERSION is one of SemVer, and the first section of the changes is about it: released on a day, or not yet.
func TestVersion(t *testing.T) {
	version, err := os.ReadFile("VERSION")
	if err != nil {
		t.Fatal(err)
	}
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkVersion(string(version), string(changes)); err != "" {
		t.Error(err)
	}
}

var section = regexp.MustCompile(`(?m)^## (\S+) \((unreleased|\d{4}-\d{2}-\d{2})\)$`)

// checkVersion says what is wrong, if anything is. It is pure.
func checkVersion(version, changes string) string {
	v, err := semver.StrictNewVersion(strings.TrimSuffix(version, "\n"))
	if err != nil {
		return "VERSION: " + err.Error()
	}
	if v.Metadata() != "" || v.Prerelease() != "" && v.Prerelease() != "dev" {
		return "VERSION: want MAJOR.MINOR.PATCH, and -dev until it is released"
	}
	head := section.FindStringSubmatch(changes)
	if head == nil {
		return "CHANGELOG.md has no section such as: ## 0.1.0 (unreleased)"
	}
	bare, _ := v.SetPrerelease("")
	if head[1] != bare.String() || (head[2] == "unreleased") != (v.Prerelease() == "dev") {
		return "the first section of CHANGELOG.md is about " + head[0] + ", and VERSION says " + v.String()
	}
	return ""
}

func TestCheckVersion(t *testing.T) {
	cases := map[string]struct{ version, changes, want string }{
		"Next":     {"0.1.0-dev\n", "# Changes\n\n## 0.1.0 (unreleased)\n", ""},
		"Released": {"0.1.0\n", "## 0.1.0 (2026-12-01)\n\n## 0.0.9 (unreleased)\n", ""},
		"NotYet":   {"0.1.0\n", "## 0.1.0 (unreleased)\n", "the first section of CHANGELOG.md is about ## 0.1.0 (unreleased), and VERSION says 0.1.0"},
		"Another":  {"0.2.0-dev\n", "## 0.1.0 (unreleased)\n", "the first section of CHANGELOG.md is about ## 0.1.0 (unreleased), and VERSION says 0.2.0-dev"},
		"NoneYet":  {"0.1.0-dev\n", "# Changes\n", "CHANGELOG.md has no section such as: ## 0.1.0 (unreleased)"},
		"Candidate": {
			"0.1.0-rc.1\n", "## 0.1.0 (unreleased)\n", "VERSION: want MAJOR.MINOR.PATCH, and -dev until it is released",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := checkVersion(c.version, c.changes); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	if checkVersion("v0.1.0\n", "") == "" {
		t.Error("a version with a v is taken")
	}
}
