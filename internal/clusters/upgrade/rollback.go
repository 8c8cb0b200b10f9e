package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/operator"
)

// planRollback returns the steps of a rollback. Nodes go first, because none may be newer than the API server; then the control plane behaves
// as the older minor, with the programs that it has, and at last its programs are replaced. A backup is restored in between, where nothing newer
// is written any more: whatever the older programs cannot read is gone before they start. It is pure.
func planRollback(w Wanted) ([]v1alpha1.UpgradeStep, error) {
	if err := refusal(release.CheckRollback(w.From, w.To, w.To.MinorString())); err != nil {
		return nil, err
	}
	if problem := usable(w.To, w.Releases); problem != "" {
		return nil, &invalid.Error{Field: field, Problem: problem}
	}
	steps := []v1alpha1.UpgradeStep{
		pending(v1alpha1.StepPreflight, "Preflight", "", "nothing is changed before it is known what stands against it"),
		backupStep(w.Backup),
	}
	if w.Restore != "" {
		steps[1].State, steps[1].Message = v1alpha1.StepSkipped, "the restore saves the state before it writes"
		steps = append(steps, pending(v1alpha1.StepComparison, "Comparison with backup "+w.Restore, "", "all of the backup is read, and what is lost by restoring it is known, before anything is changed"))
	}
	pools := slices.SortedFunc(slices.Values(w.Pools), func(a, b Pool) int { return cmp.Compare(a.Name, b.Name) })
	for _, p := range pools {
		switch {
		case !p.Own:
			steps = append(steps, poolStep(p.Name, w.To, "no node may be newer than the API server; the nodes are replaced as spec.rollout of the pool says"))
		case p.Newest.Minor() > w.To.Minor():
			steps = append(steps, poolStep(p.Name, w.To, fmt.Sprintf("no node may be newer than the API server, and the pool has a version of its own: %s", p.Newest)))
		}
	}
	if w.From.Minor() != w.To.Minor() {
		steps = append(steps, pending(v1alpha1.StepEmulation, "Control plane as "+w.To.MinorString(), w.To.MinorString(),
			fmt.Sprintf("%s serves and stores from then on what %s can read, and goes on as before if the upgrade is deleted", w.From, w.To.MinorString())))
	}
	if w.Restore != "" {
		steps = append(steps, pending(v1alpha1.StepRestore, "Restore of backup "+w.Restore, "", "spec.restoreBackupName: the cluster gets all that the backup has, and nothing that was written since; its API server stops meanwhile"))
	}
	return append(steps, pending(v1alpha1.StepControlPlane, "Control plane "+w.To.String(), w.To.String(), "it is the version that is asked for")), nil
}

// short says whether a part of the cluster is not yet at a version: older, or newer in a rollback. It is pure.
func short(u *v1alpha1.Upgrade, have, wanted string) bool {
	if u.Spec.Rollback {
		return older(wanted, have)
	}
	return older(have, wanted)
}

// emulate has the control plane behave as the older minor, and looks whether anything is stored that it does not have.
func (r *reconciler) emulate(ctx context.Context, u *v1alpha1.Upgrade, at int) operator.Outcome {
	s := &u.Status.Steps[at]
	subject, refused := r.subject(ctx, u)
	if refused != nil {
		return *refused
	}
	if subject.cluster.Spec.EmulatedVersion != s.Version {
		if err := setVersion(ctx, r.Client, subject.cluster, subject.cluster.Spec.Version, s.Version); err != nil {
			return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
		}
	}
	waits, stuck := lacks(u, subject, u.Status.FromVersion)
	again := stepCheck
	// The cluster, too: its version cannot be lowered before it says so.
	if waits == "" && (subject.plane.Status.EmulatedVersion != s.Version || subject.cluster.Status.EmulatedVersion != s.Version) {
		waits = "it does not emulate " + s.Version + " yet"
	}
	if waits == "" && u.Spec.RestoreBackupName == "" {
		newer, err := r.newerObjects(ctx, subject.plane, u.Spec.Version)
		if err != nil {
			return operator.Retry(v1alpha1.ReasonUpgradeFailed, err)
		}
		if blocking := Blocking(newerFindings(newer, s.Version), u.Spec.Ignore); len(blocking) > 0 {
			again = lookAgain // all that is stored is read for it
			waits, stuck = sentence(blocking)+"; delete the upgrade, which ends the emulation, delete them, and roll back again", true
		}
	}
	if waits == "" {
		r.finish(u, s, v1alpha1.StepDone, "")
		return operator.Wait(v1alpha1.ReasonUpgradingControlPlane, "the control plane behaves as "+s.Version, atOnce)
	}
	r.hold(u, s, waits, stuck)
	return operator.Wait(v1alpha1.ReasonUpgradingControlPlane, "the control plane goes over to behaving as "+s.Version+": "+waits, again)
}

// stay ends the emulation of a rollback that is deleted before the cluster wants the older programs. It says what it has done, or nothing.
func stay(ctx context.Context, c client.Client, u *v1alpha1.Upgrade, s subject) (string, error) {
	emulation := stepOf(u, v1alpha1.StepEmulation)
	if emulation == nil || emulation.State == v1alpha1.StepPending || s.cluster.Spec.EmulatedVersion != emulation.Version {
		return "", nil
	}
	if err := setVersion(ctx, c, s.cluster, s.cluster.Spec.Version, ""); err != nil {
		return "", err
	}
	return fmt.Sprintf("cluster %s stays at %s", s.cluster.Name, s.cluster.Spec.Version), nil
}
