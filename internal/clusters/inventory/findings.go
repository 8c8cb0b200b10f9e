package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Severity says how soon a finding wants an operator.
type Severity string

// The severities.
const (
	Critical Severity = "Critical"
	Warn     Severity = "Warning"
	Info     Severity = "Info"
)

// Rule names a rule.
type Rule string

// The rules.
const (
	RuleVersionSkew        Rule = "VersionSkew"
	RuleEndOfLife          Rule = "EndOfLife"
	RuleLatestTag          Rule = "LatestTag"
	RuleNoDigest           Rule = "NoDigest"
	RuleCertificateExpires Rule = "CertificateExpires"
	RuleNodeNotReady       Rule = "NodeNotReady"
	RuleDeprecatedAPI      Rule = "DeprecatedAPI"
	RuleStuckPod           Rule = "StuckPod"
)

// Finding is what an operator or a user should do something about.
type Finding struct {
	Rule     Rule
	Severity Severity
	Place
	// Subject is what it is about. Of containers it is what owns their pods, whose kind is in SubjectKind.
	Subject     Key
	SubjectKind string
	// Reason says what is so, and Remedy what to do.
	Reason, Remedy string
}

const (
	// certificateWarning is how long before the end of a certificate it is a finding.
	certificateWarning = 30 * 24 * time.Hour
	// authorityWarning is the same for an authority: all that it has signed ends with it, and all clients have to trust another one first.
	authorityWarning = 180 * 24 * time.Hour
	// pendingPatience is how long a pod may be pending.
	pendingPatience = 5 * time.Minute
)

// endOfLife is until when upstream supports a minor: about 14 months after its release, of which the last two are for maintenance. Source:
// data/releases of https://github.com/kubernetes/website, up to 1.31 the day when it ended (eol.yaml), of later ones the day that was
// planned at the release (schedule.yaml); that of 1.36 follows from its release in April 2026. A minor that is newer is none that ended;
// one that is older has ended.
var endOfLife = map[uint64]time.Time{
	28: date(2024, 10, 22), 29: date(2025, 2, 28), 30: date(2025, 7, 15), 31: date(2025, 11, 11), 32: date(2026, 2, 28), 33: date(2026, 6, 28),
	34: date(2026, 10, 27), 35: date(2027, 2, 28), 36: date(2027, 6, 28),
}

const oldestMinor = 28

func date(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// skews are how many minors a component may be older than the API server. None of them may be newer. Source:
// https://kubernetes.io/releases/version-skew-policy/.
var skews = map[string]int{"kubelet": 3, "kube-proxy": 3, "kube-controller-manager": 1, "kube-scheduler": 1, "cloud-controller-manager": 1}

// stuck are the reasons for which a container does not run that time alone does not remove, and what to do.
var stuck = map[string]string{
	"CrashLoopBackOff":           "read the logs of the container before its last restart",
	"ImagePullBackOff":           "look whether the image is there and the cluster may pull it",
	"ErrImagePull":               "look whether the image is there and the cluster may pull it",
	"CreateContainerConfigError": "create the ConfigMap or Secret that the container refers to",
}

// judged is what rules look at: one item, and what is known of its cluster.
type judged struct {
	ItemRow

	now time.Time
	// major and minor are those of the oldest API server; zero where it is not known.
	minor uint64
	major uint64
}

// rules are all that there are, by what they look at. One says no more than one thing of an item.
var rules = map[Kind][]func(judged) *Finding{
	KindComponent:   {versionSkew, componentEnds},
	KindContainer:   {latestTag, noDigest, stuckPod},
	KindCertificate: {certificateExpires},
	KindNode:        {nodeNotReady},
	KindAPI:         {deprecatedAPI},
}

// Findings returns what the rules say of the items of one cluster, the gravest first. Containers of one workload are one finding, whose
// place is that of the first.
func Findings(now time.Time, items []ItemRow) []Finding {
	base := judged{now: now}
	for _, row := range items {
		c := row.Item.Component
		if c == nil || row.Item.Key.Part != "kube-apiserver" {
			continue
		}
		if v := parseVersion(c.Version); v != nil && (base.major == 0 || v.Minor() < base.minor) {
			base.major, base.minor = v.Major(), v.Minor()
		}
	}
	found := map[string]Finding{}
	for _, row := range items {
		base.ItemRow = row
		for _, rule := range rules[row.Item.Key.Kind] {
			one := rule(base)
			if one == nil {
				continue
			}
			one.Place = row.Place
			one.SubjectKind, one.Subject = subjectOf(row.Item)
			id := one.id()
			if before, there := found[id]; !there || one.Since.Before(before.Since) {
				found[id] = *one
			}
		}
	}
	out := make([]Finding, 0, len(found))
	for _, one := range found {
		out = append(out, one)
	}
	slices.SortFunc(out, compareFindings)
	return out
}

// subjectOf is what a finding about an item is about: of a container the workload, which is what users change.
func subjectOf(item Item) (string, Key) {
	key := item.Key
	if c := item.Container; c != nil && c.WorkloadName != "" {
		return c.WorkloadKind, Key{Kind: KindContainer, Namespace: key.Namespace, Name: c.WorkloadName, Part: key.Part}
	}
	return string(key.Kind), key
}

// id tells findings of one cluster apart.
func (f Finding) id() string {
	return strings.Join([]string{
		fmt.Sprint(severityOrder(f.Severity)), string(f.Rule), f.SubjectKind, f.Subject.Namespace, f.Subject.Name, f.Subject.Part, f.Subject.UID,
	}, "\x01")
}

func severityOrder(s Severity) int { return slices.Index([]Severity{Critical, Warn, Info}, s) }

func compareFindings(a, b Finding) int { return cmp.Compare(a.id(), b.id()) }

func versionSkew(j judged) *Finding {
	component := j.Item.Key.Part
	most, bound := skews[component]
	v := parseVersion(j.Item.Component.Version)
	if !bound || v == nil || j.minor == 0 || v.Major() != j.major {
		return nil
	}
	switch {
	case v.Minor() > j.minor:
		return &Finding{
			Rule: RuleVersionSkew, Severity: Critical,
			Reason: fmt.Sprintf("%s %s is newer than the API server, which is %d.%d", component, j.Item.Component.Version, j.major, j.minor),
			Remedy: fmt.Sprintf("upgrade the API server to %d.%d, or install an older %s", v.Major(), v.Minor(), component),
		}
	case v.Minor()+uint64(most) < j.minor:
		return &Finding{
			Rule: RuleVersionSkew, Severity: Critical,
			Reason: fmt.Sprintf("%s %s is %d minors older than the API server, which is %d.%d; %d are supported", component,
				j.Item.Component.Version, j.minor-v.Minor(), j.major, j.minor, most),
			Remedy: fmt.Sprintf("upgrade %s to at least %d.%d", component, j.major, j.minor-uint64(most)),
		}
	}
	return nil
}

func componentEnds(j judged) *Finding {
	component := j.Item.Key.Part
	if component != "kube-apiserver" && component != "kubelet" {
		return nil
	}
	v := parseVersion(j.Item.Component.Version)
	if v == nil || v.Major() != 1 {
		return nil
	}
	end, known := endOfLife[v.Minor()]
	if !known && v.Minor() >= oldestMinor || known && j.now.Before(end) {
		return nil
	}
	reason := fmt.Sprintf("Kubernetes 1.%d is older than every supported minor", v.Minor())
	if known {
		reason = fmt.Sprintf("Kubernetes 1.%d has had no fixes upstream since %s", v.Minor(), end.Format(time.DateOnly))
	}
	return &Finding{Rule: RuleEndOfLife, Severity: Warn, Reason: reason, Remedy: "upgrade " + component + " to a supported minor"}
}

func latestTag(j judged) *Finding {
	i := j.Item.Container.Image
	if strings.Contains(i.Reference, "@") || i.Tag != "" && i.Tag != "latest" {
		return nil
	}
	return &Finding{
		Rule: RuleLatestTag, Severity: Warn, Reason: "the image " + i.Reference + " names no version: each node runs what it pulled last",
		Remedy: "name a tag of a version, or a digest",
	}
}

func noDigest(j judged) *Finding {
	c := j.Item.Container
	if c.Image.Digest != "" || c.Phase != "Running" || c.Reason != "" {
		return nil
	}
	return &Finding{
		Rule: RuleNoDigest, Severity: Info, Reason: "no kubelet says which content of " + c.Image.Reference + " runs",
		Remedy: "pull the image from a registry, which gives it a digest",
	}
}

func stuckPod(j judged) *Finding {
	c := j.Item.Container
	if remedy, is := stuck[c.Reason]; is {
		return &Finding{Rule: RuleStuckPod, Severity: Warn, Reason: "the container does not run: " + c.Reason, Remedy: remedy}
	}
	if c.Phase != "Pending" || j.now.Sub(j.Since) <= pendingPatience {
		return nil
	}
	return &Finding{
		Rule: RuleStuckPod, Severity: Warn, Reason: "the pod has been pending since " + j.Since.UTC().Format(time.RFC3339),
		Remedy: "look at the events of the pod: it may find no node or no volume",
	}
}

func certificateExpires(j judged) *Finding {
	end := j.Item.Certificate.NotAfter
	if j.Item.Key.Part == PartAuthority {
		return authorityExpires(end, j.now)
	}
	switch {
	case end.IsZero() || end.Sub(j.now) > certificateWarning:
		return nil
	case !end.After(j.now):
		return &Finding{
			Rule: RuleCertificateExpires, Severity: Critical, Reason: "the certificate has expired: " + end.Format(time.RFC3339),
			Remedy: "renew the certificate",
		}
	}
	return &Finding{
		Rule: RuleCertificateExpires, Severity: Warn, Reason: "the certificate expires at " + end.Format(time.RFC3339),
		Remedy: "renew the certificate before that",
	}
}

func authorityExpires(end, now time.Time) *Finding {
	if end.IsZero() || end.Sub(now) > authorityWarning {
		return nil
	}
	f := &Finding{
		Rule: RuleCertificateExpires, Severity: Warn, Reason: "the authority of the API server expires at " + end.Format(time.RFC3339) + ", and all that it has signed with it",
		Remedy: "rotate it before that: where KQueen hosts the control plane by kqueen cluster rotate ca, else where the cluster was created",
	}
	if end.Sub(now) <= certificateWarning {
		f.Severity = Critical
	}
	return f
}

func nodeNotReady(j judged) *Finding {
	n := j.Item.Node
	if n.Ready == "True" {
		return nil
	}
	reason := "the node is not ready"
	if n.Message != "" {
		reason += ": " + n.Message
	}
	return &Finding{Rule: RuleNodeNotReady, Severity: Critical, Reason: reason, Remedy: "look at the kubelet of the node and at its network, or replace the node"}
}

func deprecatedAPI(j judged) *Finding {
	removed := parseVersion(j.Item.API.RemovedIn)
	if removed == nil || j.minor == 0 || removed.Major() > j.major || removed.Major() == j.major && removed.Minor() > j.minor+1 {
		return nil
	}
	return &Finding{
		Rule: RuleDeprecatedAPI, Severity: Warn, Reason: fmt.Sprintf("clients call %s, which is gone in Kubernetes %s", j.Item.Key.Name, j.Item.API.RemovedIn),
		Remedy: "find the clients in the audit log of the API server, and upgrade them before the cluster",
	}
}
