package datastore

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
)

// Floor is the oldest etcd that may hold several tenants. Below it nested transactions, open-ended watches and Compact get past
// the range grants (CVE-2026-33343, 44283, 73499, 33413), and a TLS handshake has no deadline (CVE-2026-73500).
// The repaired 3.5.33 and 3.6.14 are refused too: we test on 3.7 only.
const Floor = "3.7.1"

// VersionError tells that an endpoint runs an etcd that must not hold several tenants.
type VersionError struct {
	Endpoint string
	Found    string // as the endpoint told it
	Wanted   string // the least version that is accepted
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("etcd %s runs version %q: its access control does not hold between tenants, want %s or newer", e.Endpoint, e.Found, e.Wanted)
}

// checkVersion refuses what is older than Floor, release candidates of Floor, and what is no version at all.
func checkVersion(endpoint, found string) error {
	v, err := semver.StrictNewVersion(found)
	if err != nil || v.LessThan(semver.MustParse(Floor)) {
		return &VersionError{Endpoint: endpoint, Found: found, Wanted: Floor}
	}
	return nil
}
