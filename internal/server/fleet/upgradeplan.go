package fleet

import (
	"context"
	"errors"
	"time"

	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/rights"
)

// dryRunWithin bounds the answer to what an upgrade would be: the cluster is read for it.
const dryRunWithin = 40 * time.Second

// DryRun returns the status that an upgrade would have if it was created now. It changes nothing.
type DryRun func(context.Context, *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error)

type upgradePlanInput struct {
	ClusterPath

	Version  string `query:"version" maxLength:"32" pattern:"^v[0-9]+\\.[0-9]+\\.[0-9]+$" doc:"The version that the cluster would be upgraded to, such as v1.37.2."`
	Rollback bool   `query:"rollback" doc:"Whether the cluster would go back to that version, which is older."`
	Restore  string `query:"restoreBackupName" maxLength:"253" doc:"Name of the backup that a rollback would restore."`
	Backup   bool   `query:"backup" default:"true" doc:"Whether the cluster would be backed up first."`
}

// upgradePlan is for who may see upgrades: what KQueen reads for it is said by what an Upgrade's status would say.
func (l *live) upgradePlan(ctx context.Context, in *upgradePlanInput) (*chain.Answer[rest.UpgradePlan], error) {
	cluster := &v1alpha1.Cluster{}
	if err := l.rights.Object(ctx, l.callers, in.Organization, "get", "clusters", in.Cluster, cluster); err != nil {
		return nil, err
	}
	if err := l.rights.Require(ctx, rights.Act{Verb: "list", Resource: "upgrades", Namespace: cluster.Namespace}); err != nil {
		return nil, err
	}
	if in.Version == "" {
		return nil, refused("version", "is missing; want the version that the cluster would be upgraded to, such as v1.37.2")
	}
	leave, err := l.turn(in.Organization)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, dryRunWithin)
	defer cancel()
	u := &v1alpha1.Upgrade{Spec: v1alpha1.UpgradeSpec{ClusterName: cluster.Name, Version: in.Version, Rollback: in.Rollback, RestoreBackupName: in.Restore, Backup: ptr.To(in.Backup)}}
	u.Namespace = cluster.Namespace
	status, err := l.dryRun(ctx, u)
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return nil, refused("version", bad.Detail())
	}
	if err != nil {
		return nil, problem.Explain(err)
	}
	now := rest.ClusterNow{Organization: in.Organization, Cluster: cluster.Name, ClusterUID: string(cluster.UID), AsOf: l.now().UTC()}
	return &chain.Answer[rest.UpgradePlan]{Body: toUpgradePlan(now, in.Version, status)}, nil
}

func toUpgradePlan(now rest.ClusterNow, version string, status *v1alpha1.UpgradeStatus) rest.UpgradePlan {
	out := rest.UpgradePlan{
		ClusterNow: now, FromVersion: status.FromVersion, Version: version, OmittedFindings: int(status.OmittedFindings),
		Steps: make([]rest.UpgradePlanStep, 0, len(status.Steps)), Findings: make([]rest.UpgradePlanFinding, 0, len(status.Findings)),
	}
	for _, s := range status.Steps {
		step := rest.UpgradePlanStep{Name: s.Name, Kind: s.Kind, Version: s.Version, Why: s.Why, LastSeconds: s.LastSeconds}
		if s.Kind == v1alpha1.StepNodePool {
			step.Object = s.Object
		}
		if s.State == v1alpha1.StepSkipped {
			step.Skipped = s.Message
		}
		out.Steps = append(out.Steps, step)
	}
	for _, f := range status.Findings {
		out.Findings = append(out.Findings, rest.UpgradePlanFinding(f))
	}
	return out
}
