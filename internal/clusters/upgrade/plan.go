package upgrade

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// mostPools is how many node pools a cluster may have for an upgrade: each is a step in a status.
const mostPools = 200

// Pool is what is known of a node pool before an upgrade.
type Pool struct {
	Name string
	// Own says that it has a version of its own, and does not follow its cluster.
	Own bool
	// Manual says that its machines are joined by their user.
	Manual bool
	// Oldest and Newest are those of the versions of its machines, and of the one that they will have.
	Oldest, Newest release.Version
}

// Wanted is what an upgrade is planned from.
type Wanted struct {
	From, To release.Version
	// Rollback says that To is older.
	Rollback bool
	// Restore is the name of the backup that a rollback restores; empty for none.
	Restore string
	// Backup says whether the cluster is backed up first.
	Backup   bool
	Releases []Release
	Pools    []Pool
}

// Plan returns the steps of an upgrade, none of them begun; none when there is nothing to do. The nodes are replaced once, at the end,
// unless they would be too old for a version on the way: then they are upgraded as far as the control plane is. A pool with a version of
// its own keeps it while that fits. A rollback goes the other way: see [planRollback]. The error is an [invalid.Error]. It is pure.
func Plan(w Wanted) ([]v1alpha1.UpgradeStep, error) {
	if len(w.Pools) > mostPools {
		return nil, invalid.New("spec.clusterName", "the cluster has %d node pools; an upgrade is for at most %d", len(w.Pools), mostPools)
	}
	if w.Rollback {
		return planRollback(w)
	}
	path, err := Path(w.From, w.To, w.Releases)
	if err != nil || len(path) == 0 {
		return nil, err
	}
	pools := slices.SortedFunc(slices.Values(w.Pools), func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	steps := []v1alpha1.UpgradeStep{
		pending(v1alpha1.StepPreflight, "Preflight", "", "nothing is changed before it is known what stands against it"),
		backupStep(w.Backup),
	}
	at := w.From
	for i, hop := range path {
		for p := range pools {
			if why := unfit(hop, pools[p].Oldest); why != "" {
				steps = append(steps, poolStep(pools[p].Name, at, why))
				pools[p].Oldest = at
			}
		}
		steps = append(steps, controlPlaneStep(hop, i == len(path)-1))
		at = hop
	}
	for _, p := range pools {
		if !p.Own {
			steps = append(steps, poolStep(p.Name, at, "the pool has no version of its own and follows the cluster; its nodes are replaced as its spec.rollout says"))
		}
	}
	return steps, nil
}

func pending(kind, name, version, why string) v1alpha1.UpgradeStep {
	return v1alpha1.UpgradeStep{Kind: kind, Name: name, Version: version, Why: why, State: v1alpha1.StepPending}
}

func backupStep(wanted bool) v1alpha1.UpgradeStep {
	s := pending(v1alpha1.StepBackup, "Backup", "", "what goes wrong with what is stored can be undone by no other means")
	if !wanted {
		s.State, s.Message = v1alpha1.StepSkipped, "spec.backup is false"
	}
	return s
}

func controlPlaneStep(to release.Version, last bool) v1alpha1.UpgradeStep {
	why := "it is the version that is asked for"
	if !last {
		why = fmt.Sprintf("no minor may be left out, and %s is the newest release of %s here", to, to.MinorString())
	}
	return pending(v1alpha1.StepControlPlane, "Control plane "+to.String(), to.String(), why)
}

func poolStep(name string, to release.Version, why string) v1alpha1.UpgradeStep {
	s := pending(v1alpha1.StepNodePool, "Node pool "+name+" "+to.String(), to.String(), why)
	s.Object = name
	return s
}

// unfit says why a kubelet cannot stay beside an API server, or nothing.
func unfit(server, kubelet release.Version) string {
	if kubelet.IsZero() {
		return ""
	}
	skew, ok := errors.AsType[*release.SkewError](release.CheckComponent(server, "kubelet", kubelet))
	if !ok {
		return ""
	}
	return "kubelet " + skew.Reason
}

// adopt returns a plan with what is known of the steps that are in both. It is pure.
func adopt(planned, known []v1alpha1.UpgradeStep) []v1alpha1.UpgradeStep {
	out := slices.Clone(planned)
	for i := range out {
		same := slices.IndexFunc(known, func(s v1alpha1.UpgradeStep) bool { return s.Name == out[i].Name && s.Kind == out[i].Kind })
		if same < 0 {
			continue
		}
		have := known[same]
		out[i].State, out[i].Message, out[i].StartedTime, out[i].FinishedTime = have.State, have.Message, have.StartedTime, have.FinishedTime
	}
	return out
}

// timed notes in each step how long such a one took in an earlier upgrade: for a pool, if it was there, the same one. It is pure.
func timed(steps, earlier []v1alpha1.UpgradeStep) []v1alpha1.UpgradeStep {
	out := slices.Clone(steps)
	for i := range out {
		out[i].LastSeconds = 0
		exact := false
		for _, e := range earlier {
			if e.Kind != out[i].Kind || e.State != v1alpha1.StepDone || e.StartedTime == nil || e.FinishedTime == nil || exact && e.Object != out[i].Object {
				continue
			}
			exact = exact || e.Object == out[i].Object && e.Kind == v1alpha1.StepNodePool
			out[i].LastSeconds = int64(max(e.FinishedTime.Sub(e.StartedTime.Time).Seconds(), 0))
		}
	}
	return out
}

// lastOf is the upgrade of a cluster that has ended last, or nil. It is pure.
func lastOf(all []v1alpha1.Upgrade, u *v1alpha1.Upgrade) *v1alpha1.Upgrade {
	var last *v1alpha1.Upgrade
	for i := range all {
		o := &all[i]
		if o.Name == u.Name || o.Spec.ClusterName != u.Spec.ClusterName || o.Status.CompletionTime == nil {
			continue
		}
		if last == nil || last.Status.CompletionTime.Before(o.Status.CompletionTime) {
			last = o
		}
	}
	return last
}
