// Package release knows the Kubernetes versions that can be run: how versions are
// written and may differ, where the programs of one come from, and where they lie.
//
// It hides the module builds, the downloads, the hash checks and the locks behind
// one method: [Store.Ensure] gives a folder with every program of a version, created once
// per machine however many processes ask. The skew rules are pure functions and
// touch nothing.
//
// Packages that start a Kubernetes program, or decide about its version, may import it: the
// drivers, the control planes, the command line. It starts no component, except to ask a
// fresh build for its version.
package release

import (
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
)

const (
	// maxVersionLength keeps a version usable as the name of a folder.
	maxVersionLength = 64
	// maxVersionNumber keeps the sums of the skew rules far from overflow.
	maxVersionNumber = 99999

	versionExample = "write it like v1.36.3"
)

// Version is one Kubernetes version such as v1.36.3 or v1.37.0-rc.1. It is comparable,
// so it can be a map key. The zero Version means "not set".
type Version struct {
	major, minor, patch uint64
	pre                 string
}

// ParseVersion reads a version in the one form that Kubernetes tags its releases with:
// a leading v, three numbers, and an optional pre-release. Anything shorter or longer
// is refused; the error says what is wrong and what would be right.
func ParseVersion(s string) (Version, error) {
	switch {
	case s == "":
		return Version{}, fmt.Errorf("version is empty: %s", versionExample)
	case len(s) > maxVersionLength:
		return Version{}, fmt.Errorf("version %q… is longer than %d characters: %s", s[:16], maxVersionLength, versionExample)
	}
	rest, hasV := strings.CutPrefix(s, "v")
	if n := strings.Count(strings.SplitN(rest, "-", 2)[0], ".") + 1; hasV && n != 3 {
		return Version{}, fmt.Errorf("version %q has %d of the three numbers major.minor.patch: %s", s, n, versionExample)
	}
	parsed, err := semver.StrictNewVersion(rest)
	switch {
	case err != nil:
		return Version{}, fmt.Errorf("version %q cannot be read (%w): %s", s, err, versionExample)
	case !hasV:
		return Version{}, fmt.Errorf("version %q lacks the leading v: write it as %q", s, "v"+rest)
	case parsed.Metadata() != "":
		return Version{}, fmt.Errorf("version %q has build metadata, which releases do not have: leave out %q", s, "+"+parsed.Metadata())
	case parsed.Major() == 0:
		return Version{}, fmt.Errorf("version %q is before v1, where Kubernetes releases begin: %s", s, versionExample)
	case max(parsed.Major(), parsed.Minor(), parsed.Patch()) > maxVersionNumber:
		return Version{}, fmt.Errorf("version %q has a number above %d: %s", s, maxVersionNumber, versionExample)
	}
	return Version{major: parsed.Major(), minor: parsed.Minor(), patch: parsed.Patch(), pre: parsed.Prerelease()}, nil
}

// IsZero reports whether v is not set.
func (v Version) IsZero() bool { return v == Version{} }

// Major is the first number: 1 in v1.36.3.
func (v Version) Major() uint64 { return v.major }

// Minor is the second number: 36 in v1.36.3.
func (v Version) Minor() uint64 { return v.minor }

// String is the form that [ParseVersion] reads; empty when v is not set.
func (v Version) String() string {
	if v.IsZero() {
		return ""
	}
	if v.pre == "" {
		return fmt.Sprintf("v%d.%d.%d", v.major, v.minor, v.patch)
	}
	return fmt.Sprintf("v%d.%d.%d-%s", v.major, v.minor, v.patch, v.pre)
}

// MinorString names the minor that v belongs to: v1.36 for v1.36.3.
func (v Version) MinorString() string { return fmt.Sprintf("v%d.%d", v.major, v.minor) }

// Compare orders versions as semantic versioning does, a pre-release before its
// release: -1 when v is older than other, 0 when they are the same, 1 when newer.
func (v Version) Compare(other Version) int {
	return v.semver().Compare(other.semver())
}

// MarshalText gives the form of String. A Version that is not set is an error, because
// its text could not be read back: mark an optional field with omitzero.
func (v Version) MarshalText() ([]byte, error) {
	if v.IsZero() {
		return nil, errors.New("version is not set")
	}
	return []byte(v.String()), nil
}

// UnmarshalText reads what [ParseVersion] reads.
func (v *Version) UnmarshalText(text []byte) error {
	parsed, err := ParseVersion(string(text))
	if err != nil {
		return err
	}
	*v = parsed
	return nil
}

func (v Version) semver() *semver.Version {
	return semver.New(v.major, v.minor, v.patch, v.pre, "")
}
