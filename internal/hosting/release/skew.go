package release

import (
	"fmt"
	"strings"
)

// SkewError says that two versions may not meet, or that one may not follow the other.
type SkewError struct {
	// Field is what the rule was about: "version" for an upgrade, else the component.
	// A caller may put the path of its own field here before it shows the error.
	Field string
	// From is the version now, or the API server's when a component was checked.
	From Version
	// To is the version asked for, or the component's.
	To Version
	// Reason is what is wrong, Fix what would be right. Both are for users.
	Reason, Fix string
}

func (e *SkewError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Field, e.Reason, e.Fix)
}

// skew is how far a component may be from the API server, in minors.
type skew struct{ older, newer uint64 }

// componentSkew is the table of https://kubernetes.io/releases/version-skew-policy/,
// section "Supported version skew".
var componentSkew = map[string]skew{
	"kube-apiserver":           {older: 1, newer: 1},
	"kube-controller-manager":  {older: 1},
	"kube-scheduler":           {older: 1},
	"cloud-controller-manager": {older: 1},
	"kubelet":                  {older: 3},
	"kube-proxy":               {older: 3},
	"kubectl":                  {older: 1, newer: 1},
}

// CheckUpgrade says whether a control plane may go from one version to another. The
// error is a [*SkewError] whose Field is "version". The same version is allowed: there
// is nothing to do. So are a newer patch and the next minor, pre-releases included.
//
// Source: https://kubernetes.io/releases/version-skew-policy/, "Supported component
// upgrade order": the API server must "not skip minor versions when upgrading, even in
// single-instance clusters". For the way back see [CheckRollback].
func CheckUpgrade(from, to Version) error {
	refuse := func(reason, fix string) error {
		return &SkewError{Field: "version", From: from, To: to, Reason: reason, Fix: fix}
	}
	switch {
	case from.IsZero():
		return refuse("the present version is not known", "set it, for example to v1.36.3")
	case to.IsZero():
		return refuse("the wanted version is not set", "set it, for example to "+from.String())
	case to.Compare(from) < 0:
		return refuse(fmt.Sprintf("%s is older than %s", to, from),
			fmt.Sprintf("stay at %s or choose a newer version; to go back use: kqueen cluster rollback", from))
	case to.major != from.major:
		return refuse(fmt.Sprintf("%s to %s crosses a major version", from, to),
			fmt.Sprintf("choose a version of %s or v%d.%d", from.MinorString(), from.major, from.minor+1))
	case to.minor > from.minor+1:
		return refuse(fmt.Sprintf("%s to %s skips a minor version", from, to),
			fmt.Sprintf("upgrade to %s first, one after the other", minorsBetween(from, to)))
	}
	return nil
}

// CheckRollback says whether a control plane may go back from one version to an older one: to an earlier patch of its
// minor, and to the minor before while it emulates that, such as "v1.35". The error is a [*SkewError] whose Field is
// "version".
//
// Source: https://kubernetes.io/docs/concepts/cluster-administration/compatibility-version/: with an emulated version a
// control plane "emulates the behavior (APIs, features, ...) of an older Kubernetes release", and what it stores is what
// that release can read.
func CheckRollback(from, to Version, emulated string) error {
	refuse := func(reason, fix string) error {
		return &SkewError{Field: "version", From: from, To: to, Reason: reason, Fix: fix}
	}
	switch {
	case from.IsZero() || to.IsZero() || to.Compare(from) >= 0:
		return refuse(fmt.Sprintf("%q is not older than %q", to, from), "choose an older version to go back to")
	case to.major != from.major || to.minor+1 < from.minor:
		return refuse(fmt.Sprintf("%s to %s goes back by more than one minor version", from, to),
			fmt.Sprintf("go back to v%d.%d.x first", from.major, from.minor-1))
	case to.minor != from.minor && emulated != to.MinorString():
		return refuse(fmt.Sprintf("%s is older than %s, which does not emulate %s", to, from, to.MinorString()),
			"roll back with: kqueen cluster rollback NAME --to "+to.String())
	}
	return nil
}

// CheckEmulation says whether programs of a version may emulate a minor such as "v1.35": their own, which empty stands
// for, or the one before. The error is a [*SkewError] whose Field is "emulatedVersion". Upstream allows three minors
// more; what KQueen goes back to is one.
func CheckEmulation(v Version, emulated string) error {
	before := fmt.Sprintf("v%d.%d", v.major, v.minor-min(v.minor, 1))
	if emulated == "" || emulated == v.MinorString() || emulated == before {
		return nil
	}
	return &SkewError{
		Field: "emulatedVersion", From: v, To: v, Reason: fmt.Sprintf("%s cannot emulate %q", v, emulated),
		Fix: fmt.Sprintf("leave it out, or set it to %s", before),
	}
}

// minorsBetween names the minors between two versions of one major, leaving out the
// middle of a long row.
func minorsBetween(from, to Version) string {
	const most = 6
	name := func(minor uint64) string { return fmt.Sprintf("v%d.%d.x", from.major, minor) }
	first, last := from.minor+1, to.minor-1
	var names []string
	for minor := first; minor <= last; minor++ {
		if last-first >= most && minor == first+2 {
			names = append(names, "…", name(last))
			break
		}
		names = append(names, name(minor))
	}
	return strings.Join(names, ", ")
}

// CheckComponent says whether a component may run beside an API server. The error is a
// [*SkewError] whose Field is the component. Only minors count: a kubelet v1.36.3 may
// meet an API server v1.36.1. A component that the policy does not name is refused.
//
// Source: https://kubernetes.io/releases/version-skew-policy/: controller-manager,
// scheduler and cloud-controller-manager "must not be newer" and "may be up to one
// minor version older"; kubelet and kube-proxy "must not be newer" and may be "up to
// three minor versions older" (two before 1.25); kubectl and another API server of the
// same cluster are "within one minor version".
func CheckComponent(apiserver Version, component string, v Version) error {
	refuse := func(reason, fix string) error {
		return &SkewError{Field: component, From: apiserver, To: v, Reason: reason, Fix: fix}
	}
	rule, known := componentSkew[component]
	if !known {
		return refuse("no version rule is known for this component",
			"use one of "+strings.Join(sortedKeys(componentSkew), ", "))
	}
	if (component == "kubelet" || component == "kube-proxy") && v.major == 1 && v.minor < 25 {
		rule.older = 2
	}
	switch {
	case apiserver.IsZero():
		return refuse("the version of the API server is not known", "set it, for example to v1.36.3")
	case v.IsZero():
		return refuse("the version is not set", "set it, for example to "+apiserver.String())
	case v.major != apiserver.major:
		return refuse(fmt.Sprintf("%s is of another major version than the API server's %s", v, apiserver),
			"use "+rule.allowed(apiserver))
	case v.minor > apiserver.minor+rule.newer:
		return refuse(fmt.Sprintf("%s is too new for the API server's %s", v, apiserver),
			"use "+rule.allowed(apiserver)+", or upgrade the API server first")
	case v.minor+rule.older < apiserver.minor:
		return refuse(fmt.Sprintf("%s is too old for the API server's %s", v, apiserver),
			"use "+rule.allowed(apiserver))
	}
	return nil
}

// allowed names the minors that a component may have beside an API server.
func (s skew) allowed(apiserver Version) string {
	oldest := apiserver.minor - min(s.older, apiserver.minor)
	newest := apiserver.minor + s.newer
	return fmt.Sprintf("v%d.%d.x to v%d.%d.x", apiserver.major, oldest, apiserver.major, newest)
}

// UpgradableFrom names the releases from which [CheckUpgrade] lets one go to v, for
// users to read: "v1.35.x, v1.36.0-v1.36.2" for v1.36.3. Pre-releases are left out. It is
// "no earlier release" where there is none.
func UpgradableFrom(v Version) string {
	var ranges []string
	if v.minor > 0 {
		ranges = append(ranges, fmt.Sprintf("v%d.%d.x", v.major, v.minor-1))
	}
	switch first, last := v.MinorString()+".0", v.patch-1; v.patch {
	case 0:
	case 1:
		ranges = append(ranges, first)
	default:
		ranges = append(ranges, fmt.Sprintf("%s-%s.%d", first, v.MinorString(), last))
	}
	if len(ranges) == 0 {
		return "no earlier release"
	}
	return strings.Join(ranges, ", ")
}
