package inventory

import (
	"context"
	"database/sql"
	"strings"

	"github.com/Masterminds/semver/v3"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// maxBinaries is how many versions a constraint is compared with.
const maxBinaries = 20_000

// chooseBinaries evaluates the filter's version over the versions that there are within its scope: they are few, where rows are many.
func (a *asked) chooseBinaries(ctx context.Context, q querier) error {
	if a.Version == "" {
		return nil
	}
	constraint, err := semver.NewConstraint(a.Version)
	if err != nil {
		return invalid.New("version", "is not a constraint; want one such as <1.34 or >=1.33.2, <1.35")
	}
	constraint.IncludePrerelease = true
	type version struct {
		id   int64
		text string
	}
	var s statement
	versions, err := collect(ctx, q, `SELECT b.id, b.version FROM inventory_binaries b WHERE `+in(&s, "b.component", a.Components)+`
		AND EXISTS (SELECT 1 FROM inventory_seen s JOIN inventory_clusters c ON c.id = s.cluster WHERE s.kind = 3 AND s.subject = b.id
		AND `+a.clusters(&s)+`) LIMIT `+s.arg(maxBinaries+1), s.args, func(rows *sql.Rows, to *version) error { return rows.Scan(&to.id, &to.text) })
	if err != nil {
		return err
	}
	if len(versions) > maxBinaries {
		return invalid.New("version", "there are more than %d versions to compare; want components or clusters named, too", maxBinaries)
	}
	a.binaries = []int64{}
	for _, one := range versions {
		if v := parseVersion(one.text); v != nil && constraint.Check(v) {
			a.binaries = append(a.binaries, one.id)
		}
	}
	return nil
}

// parseVersion returns nil for what is no version. Vendors put their own numbers where SemVer has prereleases ("v1.33.4-gke.12"):
// only what upstream releases before a version counts as one.
func parseVersion(text string) *semver.Version {
	v, err := semver.NewVersion(text)
	if err != nil {
		return nil
	}
	for _, before := range []string{"alpha", "beta", "rc"} {
		if strings.HasPrefix(v.Prerelease(), before) {
			return v
		}
	}
	return semver.New(v.Major(), v.Minor(), v.Patch(), "", "")
}
