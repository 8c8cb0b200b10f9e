package upgrade

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/text"
)

// Facts are what an upgrade is judged by.
type Facts struct {
	Wanted

	Steps []v1alpha1.UpgradeStep
	// Unready says why the cluster is not ready; empty when it is.
	Unready string
	// Seen is what the cluster says of itself; Unseen says why it could not be asked.
	Seen   Seen
	Unseen string
	// Called are the deprecated APIs that clients call; Uncalled says why it is not known.
	Called   []API
	Uncalled string
	// Newer is what is stored that the older version of a rollback may not be able to read.
	Newer []Newer
	// NoStore says why the cluster cannot be backed up; empty when it can.
	NoStore string
	// Window says when steps may begin that change the cluster; empty for now.
	Window string
	// LastBackup is how old the last backup is, for users; empty when there is none, or it is too old.
	LastBackup string
}

// freshBackup is how old a backup may be for an upgrade that makes none of its own.
const freshBackup = 24 * time.Hour

// maxFindings is how many findings a status has.
const maxFindings = 100

// Check says what stands against an upgrade, and what is to be known: what blocks first, by check and object. It is pure.
func Check(f Facts) []v1alpha1.UpgradeFinding {
	checks := []func(Facts) []v1alpha1.UpgradeFinding{
		clusterReady, clusterReadable, versionSkew, nodesReady, storedVersions, disruptionBudgets, admissionWebhooks, conversionWebhooks, backupStore, manualMachines, outsideWindow,
	}
	if f.Rollback {
		checks = append(checks, newerObjects)
	} else {
		checks = append(checks, deprecatedAPIs, ownVersions)
	}
	var all []v1alpha1.UpgradeFinding
	for _, check := range checks {
		all = append(all, check(f)...)
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.UpgradeFinding) int {
		return cmp.Or(strings.Compare(a.Severity, b.Severity), strings.Compare(a.Check, b.Check), strings.Compare(a.Object, b.Object))
	})
	return all
}

// Blocking are the findings that an upgrade does not go on with. It is pure.
func Blocking(all []v1alpha1.UpgradeFinding, ignore []string) []v1alpha1.UpgradeFinding {
	return slices.DeleteFunc(slices.Clone(all), func(f v1alpha1.UpgradeFinding) bool {
		return f.Severity != v1alpha1.SeverityBlocks || slices.Contains(ignore, f.Check)
	})
}

// Bounded are the findings that a status has, and how many it leaves out. What keeps the upgrade from going on is never left out for what
// does not. It is pure.
func Bounded(all []v1alpha1.UpgradeFinding, ignore []string) (shown []v1alpha1.UpgradeFinding, omitted int32) {
	sorted := slices.Clone(all)
	slices.SortStableFunc(sorted, func(a, b v1alpha1.UpgradeFinding) int {
		return cmp.Compare(len(Blocking([]v1alpha1.UpgradeFinding{b}, ignore)), len(Blocking([]v1alpha1.UpgradeFinding{a}, ignore)))
	})
	n := min(len(sorted), maxFindings)
	return sorted[:n:n], int32(len(sorted) - n)
}

func blocks(check, object, message, fix string) v1alpha1.UpgradeFinding {
	return v1alpha1.UpgradeFinding{Check: check, Severity: v1alpha1.SeverityBlocks, Object: object, Message: message, Fix: fix}
}

func warns(check, object, message, fix string) v1alpha1.UpgradeFinding {
	return v1alpha1.UpgradeFinding{Check: check, Severity: v1alpha1.SeverityWarns, Object: object, Message: message, Fix: fix}
}

func clusterReady(f Facts) []v1alpha1.UpgradeFinding {
	if f.Unready == "" {
		return nil
	}
	return []v1alpha1.UpgradeFinding{blocks(v1alpha1.CheckClusterReady, "", "the cluster is not ready: "+f.Unready, "see what it lacks with: kqueen cluster describe NAME")}
}

func clusterReadable(f Facts) []v1alpha1.UpgradeFinding {
	if f.Unseen != "" {
		return []v1alpha1.UpgradeFinding{blocks(v1alpha1.CheckClusterReadable, "", "the cluster could not be looked at: "+f.Unseen, "see whether its API server answers")}
	}
	var out []v1alpha1.UpgradeFinding
	for _, n := range f.Seen.NotRead {
		out = append(out, warns(v1alpha1.CheckClusterReadable, n.Resource, "was not looked at, or not in full: "+n.Reason, "look at it yourself"))
	}
	if f.Uncalled != "" {
		out = append(out, warns(v1alpha1.CheckClusterReadable, "", "it is not known which deprecated APIs clients call: "+f.Uncalled, "look at apiserver_requested_deprecated_apis in the metrics of the API server"))
	}
	return out
}

// versionSkew looks at the nodes themselves: a pool may have some of other versions than its machines are to have.
func versionSkew(f Facts) []v1alpha1.UpgradeFinding {
	against, fix := tooOldOnTheWay, "wait until its pool has replaced it, or upgrade it first"
	if f.Rollback {
		against, fix = tooNew, "replace it by an older one first"
	}
	var out []v1alpha1.UpgradeFinding
	for _, n := range f.Seen.Nodes {
		kubelet, err := release.ParseVersion(kubeletVersion(n.Kubelet))
		if err != nil {
			out = append(out, warns(v1alpha1.CheckVersionSkew, "Node "+n.Name, fmt.Sprintf("the version %q of its kubelet cannot be read", n.Kubelet), "see that it fits the API server yourself"))
			continue
		}
		if why := against(f, n, kubelet); why != "" {
			out = append(out, blocks(v1alpha1.CheckVersionSkew, "Node "+n.Name, why, fix))
		}
	}
	return out
}

// tooOldOnTheWay says why a node cannot stay until it is replaced, or nothing.
func tooOldOnTheWay(f Facts, n Node, kubelet release.Version) string {
	return unfit(meets(f.Steps, f.From, n.Pool), kubelet)
}

// tooNew says why a node cannot stay beside the API server of a rollback, or nothing: pools that go back with it replace theirs.
func tooNew(f Facts, n Node, kubelet release.Version) string {
	if slices.ContainsFunc(f.Steps, func(s v1alpha1.UpgradeStep) bool { return s.Kind == v1alpha1.StepNodePool && s.Object == n.Pool }) {
		return ""
	}
	return unfit(f.To, kubelet)
}

func newerObjects(f Facts) []v1alpha1.UpgradeFinding {
	return newerFindings(f.Newer, f.To.MinorString())
}

// kubeletVersion is a version as releases have it: distributions add what they are after a plus or a hyphen.
func kubeletVersion(said string) string {
	said, _, _ = strings.Cut(said, "+")
	said, _, _ = strings.Cut(said, "-")
	return said
}

// meets returns the newest API server that nodes of a pool meet before they are replaced. It is pure.
func meets(steps []v1alpha1.UpgradeStep, from release.Version, pool string) release.Version {
	at := from
	for _, s := range steps {
		if s.Kind == v1alpha1.StepNodePool && s.Object == pool {
			return at
		}
		if s.Kind == v1alpha1.StepControlPlane {
			if v, err := release.ParseVersion(s.Version); err == nil {
				at = v
			}
		}
	}
	return at
}

func nodesReady(f Facts) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, n := range f.Seen.Nodes {
		if !n.Ready {
			out = append(out, blocks(v1alpha1.CheckNodesReady, "Node "+n.Name, "the node is not ready", "mend or replace it; its pods have no other place while other nodes are replaced"))
		}
	}
	return out
}

func backupStore(f Facts) []v1alpha1.UpgradeFinding {
	switch {
	case f.Backup && f.NoStore != "":
		return []v1alpha1.UpgradeFinding{blocks(v1alpha1.CheckBackupStore, "BackupStore default", f.NoStore, "have an administrator mend the store, or create the upgrade without a backup")}
	case !f.Backup && f.LastBackup == "":
		return []v1alpha1.UpgradeFinding{warns(v1alpha1.CheckBackupStore, "", "no backup of the last day is there, and none is made: a control plane cannot go back to an older version", "back the cluster up first with: kqueen backup create NAME --cluster CLUSTER")}
	}
	return nil
}

func outsideWindow(f Facts) []v1alpha1.UpgradeFinding {
	if f.Window == "" {
		return nil
	}
	return []v1alpha1.UpgradeFinding{warns(v1alpha1.CheckMaintenance, "", "steps that change the cluster wait: "+f.Window, "set spec.ignoreMaintenance of the upgrade to go on at once")}
}

func ownVersions(f Facts) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, p := range f.Pools {
		if !p.Own {
			continue
		}
		says := fmt.Sprintf("the pool has a version of its own and keeps it: %s", p.Oldest)
		if slices.ContainsFunc(f.Steps, func(s v1alpha1.UpgradeStep) bool { return s.Kind == v1alpha1.StepNodePool && s.Object == p.Name }) {
			says = fmt.Sprintf("the pool has a version of its own, %s, which is too old for a version on the way: it is raised as far as it must", p.Oldest)
		}
		out = append(out, warns(v1alpha1.CheckOwnVersions, "NodePool "+p.Name, says, "leave out spec.version of the pool to have it follow the cluster"))
	}
	return out
}

func manualMachines(f Facts) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, p := range f.Pools {
		if p.Manual && slices.ContainsFunc(f.Steps, func(s v1alpha1.UpgradeStep) bool { return s.Kind == v1alpha1.StepNodePool && s.Object == p.Name }) {
			out = append(out, warns(v1alpha1.CheckManualMachines, "NodePool "+p.Name, "its machines are joined by their user: the upgrade waits until others are joined in their place", "have them ready; see: kqueen node join-command"))
		}
	}
	return out
}

// sentence says in one line what stands against an upgrade: the first few, and how many there are. It is pure.
func sentence(blocking []v1alpha1.UpgradeFinding) string {
	const most, longSubject, longMessage = 3, 100, 200
	parts := make([]string, 0, most)
	for _, f := range blocking[:min(len(blocking), most)] {
		subject := f.Check
		if f.Object != "" {
			subject += ": " + f.Object
		}
		parts = append(parts, text.Cut(subject, longSubject)+": "+text.Cut(f.Message, longMessage))
	}
	said := strings.Join(parts, "; ")
	if more := len(blocking) - most; more > 0 {
		said += fmt.Sprintf("; and %d more", more)
	}
	return text.Count(len(blocking), "finding") + " against the upgrade: " + said
}
