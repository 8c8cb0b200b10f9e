package upgrade

import (
	"errors"
	"fmt"
	"strings"

	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// Release is a version of Kubernetes that this installation knows.
type Release struct {
	Version release.Version
	// Problem says why it cannot be used; empty when it can.
	Problem string
}

// field is what errors of this package are about.
const field = "spec.version"

// Path returns the versions that a control plane goes through on its way, the wanted one last: of each minor in between the newest
// release that can be used. It is empty when there is nothing to do. The error is an [invalid.Error] that names what is missing. It is pure.
func Path(from, to release.Version, known []Release) ([]release.Version, error) {
	if from.IsZero() || to.IsZero() || to.Compare(from) < 0 || to.Major() != from.Major() {
		return nil, refusal(release.CheckUpgrade(from, to))
	}
	if to.Compare(from) == 0 {
		return nil, nil
	}
	if problem := usable(to, known); problem != "" {
		return nil, &invalid.Error{Field: field, Problem: problem}
	}
	var path []release.Version
	var missing []string
	for minor := from.Minor() + 1; minor < to.Minor(); minor++ {
		newest, problem := newestOf(from.Major(), minor, known)
		if problem != "" {
			missing = append(missing, problem)
		}
		path = append(path, newest)
	}
	if len(missing) > 0 {
		return nil, &invalid.Error{Field: field, Problem: fmt.Sprintf("%s to %s goes through each minor, and %s", from, to, strings.Join(missing, "; "))}
	}
	path = append(path, to)
	for i, hop := range path {
		before := from
		if i > 0 {
			before = path[i-1]
		}
		if err := refusal(release.CheckUpgrade(before, hop)); err != nil {
			return nil, err
		}
	}
	return path, nil
}

// refusal says why one version may not follow another.
func refusal(err error) error {
	if skew, ok := errors.AsType[*release.SkewError](err); ok {
		return &invalid.Error{Field: field, Problem: skew.Reason + ": " + skew.Fix}
	}
	return err
}

// usable says why a version cannot be used, or nothing.
func usable(v release.Version, known []Release) string {
	for _, r := range known {
		if r.Version.Compare(v) == 0 {
			return problemOf(r)
		}
	}
	return fmt.Sprintf("release %s is not on this machine; build it with: kqueen release build %s", v, v)
}

// newestOf returns the newest release of a minor that can be used, or says why there is none.
func newestOf(major, minor uint64, known []Release) (release.Version, string) {
	var best, unusable *Release
	for i := range known {
		r := &known[i]
		if r.Version.Major() != major || r.Version.Minor() != minor {
			continue
		}
		kept := &best
		if r.Problem != "" {
			kept = &unusable
		}
		if *kept == nil || r.Version.Compare((*kept).Version) > 0 {
			*kept = r
		}
	}
	switch {
	case best != nil:
		return best.Version, ""
	case unusable != nil:
		return release.Version{}, problemOf(*unusable)
	}
	name := fmt.Sprintf("v%d.%d", major, minor)
	return release.Version{}, fmt.Sprintf("no release of %s is on this machine; build one with: kqueen release build %s.x, with the newest patch for x", name, name)
}

func problemOf(r Release) string {
	if r.Problem == "" {
		return ""
	}
	return fmt.Sprintf("release %s cannot be used: %s", r.Version, r.Problem)
}
