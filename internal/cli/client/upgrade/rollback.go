package upgrade

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewRollbackCommand returns `cluster rollback`.
func NewRollbackCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Upgrade}
	u, without, sure, rehearse := &v1alpha1.Upgrade{Spec: v1alpha1.UpgradeSpec{Rollback: true}}, false, false, false
	c.FromFlags = func(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
		u.ObjectMeta = metav1.ObjectMeta{Name: name + "-back-to-" + u.Spec.Version}
		u.Spec.ClusterName, u.Spec.Backup = name, ptr.To(!without)
		return wanted(ctx, c, connected, u, rehearse)
	}
	cmd := &cobra.Command{
		Use:   "rollback [NAME]",
		Short: "Bring a cluster back to the version of Kubernetes that it had, with all that it stores",
		Long: `Bring a cluster whose control plane KQueen hosts back to an older version of
Kubernetes: to an earlier patch, or by one minor. All objects stay. An Upgrade named
NAME-back-to-VERSION looks for what stands against it, backs the cluster up, replaces
the nodes by older ones, pool by pool, has the control plane behave as the older minor
(upstream's --emulated-version), and then replaces its programs.

Without --to it goes back to where the last upgrade of the cluster came from.

What only the newer minor knows cannot be kept: fields that came with it are lost when
their objects are next written. Once objects of kinds that came with it are stored, the
cluster cannot take all along. Then it goes back with the backup that the upgrade made:
its objects are as they were before the upgrade, and what was written since is lost. You
are shown what that is before you are asked; the state before is in a backup, too. With
--restore-backup you choose that, and the backup, yourself.

With --dry-run the steps are shown, and what stands against them; nothing is created,
and the exit code is 1 if something blocks.
With --rehearse the older version is tried over a copy of all that the cluster stores.
It is paused, resumed and ended with "kqueen upgrade". You are asked first; without a
terminal, --yes is required.`,
		Example: `  kqueen cluster rollback demo --dry-run
  kqueen cluster rollback demo --rehearse --wait
  kqueen cluster rollback demo --wait
  kqueen cluster rollback demo --restore-backup before-the-upgrade --wait
  kqueen cluster rollback demo --to v1.36.3 --yes --no-backup`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, c, args); err != nil {
				return err
			}
			if c.File == "" && u.Spec.Version == "" {
				if err := toLast(cmd.Context(), c, u, args[0]); err != nil {
					return err
				}
			}
			if rehearse {
				return rehearseUpgrade(cmd.Context(), c, args)
			}
			if c.DryRun != verbs.DryRunClient && c.File == "" {
				if err := fallBack(cmd.Context(), c, u, args[0], !without); err != nil {
					return err
				}
			}
			if c.DryRun == verbs.DryRunServer && c.File == "" {
				return dryRun(cmd, c, args[0], u.Spec, !without)
			}
			if err := confirmRollback(cmd, c, u, args, sure); err != nil {
				return err
			}
			return c.Run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&u.Spec.Version, "to", "", "version of Kubernetes, such as v1.36.3; where the last upgrade came from when left out")
	cmd.Flags().StringVar(&u.Spec.RestoreBackupName, "restore-backup", "", "backup of before the upgrade that is restored: what was written since is lost")
	_ = cmd.RegisterFlagCompletionFunc("restore-backup", kinds.CompleteNames(e, kinds.Backup, -1))
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&rehearse, "rehearse", false, "try it in a copy of what the cluster stores")
	register(cmd, c, u, &without)
	rehearsable(cmd, c)
	cmd.MarkFlagsMutuallyExclusive("rehearse", "restore-backup")
	c.Excludes = append(c.Excludes, "restore-backup")
	return cmd
}

// confirmRollback asks before a cluster is changed.
func confirmRollback(cmd *cobra.Command, c *verbs.Creation, u *v1alpha1.Upgrade, args []string, sure bool) error {
	if c.DryRun != "none" {
		return nil
	}
	what := "the clusters of " + c.File
	if c.File == "" {
		what = "cluster " + args[0] + " to " + u.Spec.Version
	}
	if err := c.Env.Confirmable(cmd, sure, "rollback"); err != nil {
		return err
	}
	lost := ""
	if backup := u.Spec.RestoreBackupName; backup != "" {
		if err := compare(cmd.Context(), c, u); err != nil {
			return err
		}
		lost = " What was written to it since backup " + backup + " is lost, and its API server stops while that is restored."
	}
	return c.Env.Confirmed(cmd, sure, "rollback", fmt.Sprintf("Roll back %s? Its nodes are replaced by older ones, and its API server serves the older version from then on.%s", what, lost))
}

// toLast has a rollback go back to where the last upgrade of the cluster came from.
func toLast(ctx context.Context, c *verbs.Creation, u *v1alpha1.Upgrade, cluster string) error {
	last, err := lastUpgrade(ctx, c, cluster)
	if err != nil {
		return err
	}
	if last == nil {
		return exit.Fail(exit.Failed, "no upgrade of cluster %s has ended; name the version to go back to with --to", cluster)
	}
	if last.Spec.Rollback {
		return exit.Fail(exit.Failed, "the last upgrade of cluster %s, %s, was a rollback; name the version to go back to with --to", cluster, last.Name)
	}
	u.Spec.Version = last.Status.FromVersion
	return nil
}

// lastUpgrade is the upgrade of a cluster that ended last; nil without one.
func lastUpgrade(ctx context.Context, c *verbs.Creation, cluster string) (*v1alpha1.Upgrade, error) {
	connected, err := c.Env.Connect()
	if err != nil {
		return nil, err
	}
	all, err := kinds.Fetch(ctx, connected, kinds.In(c.Env, kinds.Upgrade))
	if err != nil {
		return nil, err
	}
	return lastOf(all, cluster), nil
}

// fallBack has a rollback restore the backup that the last upgrade made, when what is stored is all that stands against going back with it.
func fallBack(ctx context.Context, c *verbs.Creation, u *v1alpha1.Upgrade, cluster string, backup bool) error {
	if u.Spec.RestoreBackupName != "" {
		return nil
	}
	plan, err := planOf(ctx, c, cluster, u.Spec, backup)
	if objects.IsForbidden(err) { // the server judges the rest
		return nil
	}
	if err != nil {
		return err
	}
	against := blocking(plan.Findings, u.Spec.Ignore)
	if len(against) == 0 || slices.ContainsFunc(against, func(f rest.UpgradePlanFinding) bool { return f.Check != v1alpha1.CheckNewerObjects }) {
		return nil
	}
	for _, f := range against {
		c.Env.Say("%s", findingLine(f))
	}
	last, err := lastUpgrade(ctx, c, cluster)
	if err != nil {
		return err
	}
	if last == nil || last.Spec.Rollback || last.Status.BackupName == "" || minorOf(last.Status.FromVersion) != minorOf(u.Spec.Version) {
		c.Env.Say("the last upgrade of cluster %s has no backup to go back with; delete these objects, or name a backup with --restore-backup", cluster)
		return nil
	}
	u.Spec.RestoreBackupName = last.Status.BackupName
	c.Env.Say("cluster %s cannot take these along: it goes back with backup %s, which upgrade %s made before it began", cluster, last.Status.BackupName, last.Name)
	return nil
}

// minorOf is the minor of a version. It is pure.
func minorOf(version string) string {
	return version[:max(strings.LastIndex(version, "."), 0)]
}

// compare shows which writes a rollback would lose, by a Restore that only compares.
func compare(ctx context.Context, c *verbs.Creation, u *v1alpha1.Upgrade) error {
	name := fmt.Sprintf("compare-%.40s-%s", u.Spec.ClusterName, rand.String(5))
	look := &verbs.Creation{Env: c.Env, Kind: kinds.Restore, DryRun: c.DryRun, FromFlags: func(context.Context, *objects.Client, error, string) ([]client.Object, error) {
		return []client.Object{&v1alpha1.Restore{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RestoreSpec{BackupName: u.Spec.RestoreBackupName, CompareOnly: true}}}, nil
	}}
	look.WaitFor(compareWithin)
	if err := look.Run(ctx, []string{name}); err != nil {
		return err
	}
	connected, err := c.Env.Connect()
	if err != nil {
		return err
	}
	rs, err := kinds.FindAs[*v1alpha1.Restore](ctx, c.Env, connected, kinds.Restore, name)
	if err != nil {
		return err
	}
	for _, line := range lost(rs) {
		c.Env.Say("%s", line)
	}
	return nil
}

// compareWithin bounds the comparison of a cluster with a backup.
const compareWithin = 10 * time.Minute

// lost says what a restore would undo. It is pure.
func lost(rs *v1alpha1.Restore) []string {
	changes := ptr.Deref(rs.Status.Changes, v1alpha1.RestoreChanges{})
	lines := []string{fmt.Sprintf("lost since backup %s: %d objects created, %d changed, %d deleted", rs.Spec.BackupName, changes.Removed, changes.Changed, changes.Added)}
	did := map[string]string{"- ": "created", "~ ": "changed", "+ ": "deleted"}
	for _, first := range changes.First {
		if len(first) > 2 && did[first[:2]] != "" {
			lines = append(lines, "  "+did[first[:2]]+" "+first[2:])
		}
	}
	if more := changes.Added + changes.Changed + changes.Removed - int64(len(changes.First)); more > 0 {
		lines = append(lines, fmt.Sprintf("  … and %d more", more))
	}
	return lines
}

// lastOf is the upgrade of a cluster that has ended last, or nil. It is pure.
func lastOf(all []client.Object, cluster string) *v1alpha1.Upgrade {
	var last *v1alpha1.Upgrade
	for _, o := range all {
		u, ok := o.(*v1alpha1.Upgrade)
		if !ok || u.Spec.ClusterName != cluster || u.Status.CompletionTime == nil {
			continue
		}
		if last == nil || last.Status.CompletionTime.Before(u.Status.CompletionTime) {
			last = u
		}
	}
	return last
}

// renamed gives an upgrade the name of its cluster and version, so that the same command twice is one upgrade, and with a number where one
// of that name has ended and another one after it: the cluster may have gone back meanwhile.
func renamed(ctx context.Context, c *verbs.Creation, connected *objects.Client, u *v1alpha1.Upgrade) error {
	if c.DryRun == verbs.DryRunClient {
		return nil
	}
	all, err := kinds.Fetch(ctx, connected, kinds.In(c.Env, kinds.Upgrade))
	if objects.IsForbidden(err) { // the server judges the rest
		return nil
	}
	if err == nil {
		u.Name = nextName(all, u)
	}
	return err
}

// nextName is the first of the names NAME, NAME-2, NAME-3 … that is free, or that of an upgrade which goes on or is the last. It is pure.
func nextName(all []client.Object, u *v1alpha1.Upgrade) string {
	last, byName := lastOf(all, u.Spec.ClusterName), map[string]*v1alpha1.Upgrade{}
	for _, o := range all {
		if other, ok := o.(*v1alpha1.Upgrade); ok {
			byName[other.Name] = other
		}
	}
	name := u.Name
	for n := 2; ; n++ {
		there := byName[name]
		if there == nil || there.Status.CompletionTime == nil || there == last {
			return name
		}
		name = fmt.Sprintf("%s-%d", u.Name, n)
	}
}
