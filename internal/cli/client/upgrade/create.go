package upgrade

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	"kqueen.io/kqueen/internal/platform/text"
)

// NewClusterCommand returns `cluster upgrade`.
func NewClusterCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Upgrade}
	u, without, rehearse := &v1alpha1.Upgrade{}, false, false
	c.FromFlags = func(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
		u.ObjectMeta = metav1.ObjectMeta{Name: name + "-" + u.Spec.Version}
		u.Spec.ClusterName, u.Spec.Backup = name, ptr.To(!without)
		return wanted(ctx, c, connected, u, rehearse)
	}
	cmd := &cobra.Command{
		Use:   "upgrade [NAME]",
		Short: "Upgrade a cluster to another version of Kubernetes, step by step",
		Long: `Upgrade a cluster whose control plane KQueen hosts. An Upgrade named NAME-VERSION looks
for what stands against it, backs the cluster up, brings the control plane to the
version, minor by minor, and replaces the nodes, pool by pool.

With --dry-run the steps are shown, and what stands against them; nothing is created,
and the exit code is 1 if something blocks.
With --rehearse the upgrade is tried in a copy of all that the cluster stores, which is
removed afterwards; the cluster itself is only read. With --wait, too, the command shows
what was found, and fails if something blocks.
An upgrade that is blocked looks again every minute, and goes on when it is mended.
It is paused, resumed and ended with "kqueen upgrade".`,
		Example: `  kqueen cluster upgrade demo --to v1.37.2 --dry-run
  kqueen cluster upgrade demo --to v1.37.2 --rehearse --wait
  kqueen cluster upgrade demo --to v1.37.2 --wait
  kqueen cluster upgrade demo --to v1.37.2 --no-backup --ignore DisruptionBudgets
  kqueen cluster upgrade demo --to v1.37.2 --dry-run -o json | jq '.findings[]'`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, c, args); err != nil {
				return err
			}
			if c.File == "" && u.Spec.Version == "" {
				return exit.UsageError(cmd, "give the version with --to; see: kqueen release list")
			}
			if rehearse {
				return rehearseUpgrade(cmd.Context(), c, args)
			}
			if c.DryRun == verbs.DryRunServer && c.File == "" {
				return dryRun(cmd, c, args[0], u.Spec, !without)
			}
			return c.Run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&u.Spec.Version, "to", "", "version of Kubernetes, such as v1.37.2; it may be several minors ahead")
	cmd.Flags().BoolVar(&rehearse, "rehearse", false, "try it in a copy of what the cluster stores")
	register(cmd, c, u, &without)
	rehearsable(cmd, c)
	return cmd
}

// rehearsable keeps the flag --rehearse from being used with what says how an upgrade goes on.
func rehearsable(cmd *cobra.Command, c *verbs.Creation) {
	for _, other := range []string{"no-backup", "ignore", "paused", "ignore-maintenance"} {
		cmd.MarkFlagsMutuallyExclusive("rehearse", other)
	}
	c.Excludes = append(c.Excludes, "rehearse")
}

// register adds the flags of upgrades and of rollbacks.
func register(cmd *cobra.Command, c *verbs.Creation, u *v1alpha1.Upgrade, without *bool) {
	flags := cmd.Flags()
	flags.BoolVar(without, "no-backup", false, "do not back the cluster up first")
	flags.StringSliceVar(&u.Spec.Ignore, "ignore", nil, "check whose findings do not block; may be repeated")
	flags.BoolVar(&u.Spec.Paused, "paused", false, "begin no step until it is resumed")
	flags.BoolVar(&u.Spec.IgnoreMaintenance, "ignore-maintenance", false, "begin steps outside of maintenance windows, too")
	_ = cmd.RegisterFlagCompletionFunc("to", kinds.CompleteNames(c.Env, kinds.Release, -1))
	_ = cmd.RegisterFlagCompletionFunc("ignore", command.OneOf(checks()...))
	c.Excludes = []string{"to", "no-backup", "ignore", "paused", "ignore-maintenance"}
	c.Register(cmd)
	flags.Lookup("dry-run").NoOptDefVal = verbs.DryRunServer
}

// check refuses command lines that contradict themselves.
func check(cmd *cobra.Command, c *verbs.Creation, args []string) error {
	if c.File == "" && len(args) == 0 {
		return exit.UsageError(cmd, "give the NAME of the cluster, or a file with --filename")
	}
	return c.Check(cmd, args)
}

// wanted is an upgrade, or a rehearsal of it, once its cluster was found.
func wanted(ctx context.Context, c *verbs.Creation, connected *objects.Client, u *v1alpha1.Upgrade, rehearse bool) ([]client.Object, error) {
	var err error
	if c.DryRun != verbs.DryRunClient {
		_, err = kinds.Find(ctx, c.Env, connected, kinds.Cluster, u.Spec.ClusterName)
	}
	if objects.IsForbidden(err) { // the server judges the rest
		err = nil
	}
	if err == nil && rehearse {
		return []client.Object{rehearsalOf(u)}, nil
	}
	if err == nil {
		err = renamed(ctx, c, connected, u)
	}
	return []client.Object{u}, err
}

// checks are those whose findings block.
func checks() []string {
	return []string{
		v1alpha1.CheckClusterReady, v1alpha1.CheckClusterReadable, v1alpha1.CheckVersionSkew, v1alpha1.CheckNodesReady, v1alpha1.CheckDeprecatedAPIs,
		v1alpha1.CheckStoredVersions, v1alpha1.CheckDisruptionBudgets, v1alpha1.CheckAdmissionWebhooks, v1alpha1.CheckConversionWebhooks,
		v1alpha1.CheckBackupStore, v1alpha1.CheckNewerObjects,
	}
}

// planOf asks what an upgrade would be.
func planOf(ctx context.Context, c *verbs.Creation, cluster string, of v1alpha1.UpgradeSpec, backup bool) (*rest.UpgradePlan, error) {
	d, err := c.Env.API()
	if err != nil {
		return nil, err
	}
	plan, err := d.GetClusterUpgradePlan(ctx, c.Env.Organization(), cluster, of.Version, of.Rollback, of.RestoreBackupName, backup)
	if err != nil {
		return nil, fmt.Errorf("plan the upgrade of cluster %s: %w", cluster, err)
	}
	return plan, nil
}

// dryRun shows what an upgrade would be, and fails when it would not begin.
func dryRun(cmd *cobra.Command, c *verbs.Creation, cluster string, of v1alpha1.UpgradeSpec, backup bool) error {
	plan, err := planOf(cmd.Context(), c, cluster, of, backup)
	if err != nil {
		return err
	}
	if err := showPlan(c, cluster, of.Version, plan); err != nil {
		return err
	}
	if n := len(blocking(plan.Findings, of.Ignore)); n > 0 {
		return exit.Fail(exit.Failed, "the upgrade of cluster %s would not begin: %s against it", cluster, text.Count(n, "finding"))
	}
	return nil
}

// blocking are the findings that an upgrade does not begin with. It is pure.
func blocking(all []rest.UpgradePlanFinding, ignore []string) []rest.UpgradePlanFinding {
	return slices.DeleteFunc(slices.Clone(all), func(f rest.UpgradePlanFinding) bool {
		return f.Severity != v1alpha1.SeverityBlocks || slices.Contains(ignore, f.Check)
	})
}

// showPlan shows a plan.
func showPlan(c *verbs.Creation, cluster, version string, plan *rest.UpgradePlan) error {
	e, format := c.Env, c.Format()
	if format == "" || format == "name" {
		format = "table"
	}
	if err := e.PrintData(format, plan, planRows(plan)); err != nil {
		return err
	}
	if format != "table" {
		return nil
	}
	if len(plan.Steps) == 0 {
		e.Say("cluster %s has %s already", cluster, version)
	}
	for _, f := range plan.Findings {
		e.Say("%s", findingLine(f))
	}
	if plan.OmittedFindings > 0 {
		e.Say("… and %d more findings", plan.OmittedFindings)
	}
	e.Say("nothing was created (dry run)")
	return nil
}

// planRows are the steps of a plan. It is pure.
func planRows(plan *rest.UpgradePlan) [][]string {
	rows := [][]string{{"STEP", "LAST TIME", "WHY"}}
	for _, s := range plan.Steps {
		why := s.Why
		if s.Skipped != "" {
			why = "skipped: " + s.Skipped
		}
		rows = append(rows, []string{s.Name, lastTime(s.LastSeconds), why})
	}
	return rows
}

func lastTime(seconds int64) string {
	if seconds == 0 {
		return ""
	}
	return fmt.Sprintf("%ds", seconds)
}

// findingLine is a finding in one line. It is pure.
func findingLine(f rest.UpgradePlanFinding) string {
	line := f.Severity + " " + f.Check + ": "
	if f.Object != "" {
		line += f.Object + ": "
	}
	line += f.Message
	if f.Fix != "" {
		line += " (" + f.Fix + ")"
	}
	return line
}
