package upgrade

import (
	"context"
	"errors"
	"fmt"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
)

// DryRun says what an upgrade would be: its status has the steps and what stands against them, as if the upgrade had been created now.
// Nothing is changed. The error is an [invalid.Error] when it would be refused. Of c, Recorder is not needed.
func DryRun(ctx context.Context, c Config, u *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error) {
	r := newReconciler(c)
	s, err := find(ctx, c.Reader, u)
	if errors.Is(err, errGone) {
		return nil, invalid.New("spec.clusterName", "there is no cluster %s whose control plane KQueen hosts", u.Spec.ClusterName)
	}
	if err != nil {
		return nil, err
	}
	if s.cluster.Status.Version == "" {
		return nil, invalid.New("spec.clusterName", "cluster %s does not say yet which version it runs", u.Spec.ClusterName)
	}
	wanted, err := wantedOf(ctx, c.Client, u, s)
	if err != nil {
		return nil, err
	}
	status := &v1alpha1.UpgradeStatus{ClusterUID: string(s.cluster.UID), FromVersion: s.cluster.Status.Version, CheckedTime: r.now()}
	if status.Steps, err = r.steps(ctx, u, wanted); err != nil || len(status.Steps) == 0 {
		return status, err
	}
	facts, err := r.facts(ctx, s, wanted, status.Steps)
	if err != nil {
		return nil, fmt.Errorf("look at cluster %s: %w", u.Spec.ClusterName, err)
	}
	status.Findings, status.OmittedFindings = Bounded(Check(facts), u.Spec.Ignore)
	return status, nil
}
