package addon

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apiequality "k8s.io/apimachinery/pkg/api/equality"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// changeTries is how often a cluster is read again when another caller changes it at the same time: its status changes all
// the time.
const changeTries = 5

// change is one run of a command that changes spec.addons of a cluster.
type change struct {
	env     *connection.Env
	cluster string
	addon   string
	// did says what was done, after the name of the addon.
	did     string
	edit    edit
	dryRun  string
	wait    bool
	timeout time.Duration
}

func newEnableCommand(e *connection.Env) *cobra.Command {
	c, sets := &change{env: e, did: "enabled"}, []string{}
	cmd := &cobra.Command{
		Use:   "enable CLUSTER ADDON",
		Short: "Switch an addon of a cluster on, and set its values",
		Long: `Switch an addon of a cluster on, and set its values, which "kqueen addon describe"
lists. Values that the cluster sets and --set does not name stay.`,
		Example: `  kqueen cluster addon enable demo metrics-server --wait
  kqueen cluster addon enable demo coredns --set replicas=3
  kqueen cluster addon enable demo coredns --set replicas-`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := named(cmd.Context(), e, args[1])
			if err != nil {
				return err
			}
			values, err := parseSets(a, sets)
			if err != nil {
				return exit.UsageError(cmd, "--set: %w", err)
			}
			c.edit = enabled(a.Name, true, values)
			if len(sets) > 0 {
				c.edit = checked(cmd, a, c.edit)
			}
			return c.run(cmd, args)
		},
	}
	cmd.Flags().StringArrayVar(&sets, "set", nil, "value to set, as KEY=VALUE, or to set no more, as KEY-; may be repeated")
	_ = cmd.RegisterFlagCompletionFunc("set", completeSets(e))
	c.register(cmd)
	return cmd
}

func newDisableCommand(e *connection.Env) *cobra.Command {
	c := &change{env: e, did: "disabled"}
	cmd := &cobra.Command{
		Use:   "disable CLUSTER ADDON",
		Short: "Switch an addon of a cluster off",
		Long: `Switch an addon of a cluster off. KQueen deletes its objects within seconds. Its values
stay with the cluster, for when it is switched on again.`,
		Example: "  kqueen cluster addon disable demo metrics-server --wait",
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := named(cmd.Context(), e, args[1])
			if err != nil {
				return err
			}
			c.edit = enabled(a.Name, false, nil)
			return c.run(cmd, args)
		},
	}
	c.register(cmd)
	return cmd
}

func newResetCommand(e *connection.Env) *cobra.Command {
	c := &change{env: e, did: "reset"}
	cmd := &cobra.Command{
		Use:   "reset CLUSTER ADDON",
		Short: "Remove what a cluster sets of an addon",
		Long: `Remove what a cluster sets of an addon: whether it has it, and its values. It is then
as the organization says, or else the provisioner or the default.`,
		Example: "  kqueen cluster addon reset demo coredns",
		RunE: func(cmd *cobra.Command, args []string) error {
			c.edit = reset(args[1]) // also of one that this installation does not know any more
			return c.run(cmd, args)
		},
	}
	c.register(cmd)
	return cmd
}

func (c *change) register(cmd *cobra.Command) {
	cmd.Args, cmd.ValidArgsFunction = clusterAndAddon, completeBoth(c.env)
	verbs.RegisterDryRun(cmd, &c.dryRun)
	cmd.Flags().BoolVar(&c.wait, "wait", false, "wait until the addons of the cluster are ready")
	command.RegisterTimeout(cmd, &c.timeout)
}

// checked refuses an edit after which the addon's values are not what its schema describes.
func checked(cmd *cobra.Command, a rest.Addon, do edit) edit {
	return func(settings []v1alpha1.AddonSetting) ([]v1alpha1.AddonSetting, error) {
		all, err := do(settings)
		if err != nil {
			return nil, err
		}
		var values json.RawMessage
		if s := all[indexOf(all, a.Name)]; s.Values != nil {
			values = s.Values.Raw
		}
		if err := checkValues(a, values); err != nil {
			return nil, exit.UsageError(cmd, "--set: %w", err)
		}
		return all, nil
	}
}

func (c *change) run(cmd *cobra.Command, args []string) error {
	c.cluster, c.addon = args[0], args[1]
	dry, err := verbs.DryRun(cmd, c.dryRun)
	if err != nil {
		return err
	}
	if dry && c.wait {
		return exit.UsageError(cmd, "--wait cannot be used with --dry-run=server, which changes nothing to wait for")
	}
	connected, err := c.env.Connect()
	if err != nil {
		return err
	}
	begun := time.Now()
	cluster, changed, err := c.update(cmd.Context(), connected, dry)
	if err != nil {
		return err
	}
	switch {
	case !changed:
		begun = time.Time{} // nothing began
		c.env.Say("addon %s of cluster %s is %s already", c.addon, c.cluster, c.did)
	case dry:
		c.env.Say("addon %s of cluster %s would be %s (dry run)", c.addon, c.cluster, c.did)
		return nil
	default:
		c.env.Say("addon %s of cluster %s is %s", c.addon, c.cluster, c.did)
	}
	if !c.wait {
		if changed {
			c.env.Say("wait for it with: %s", c.env.Command("cluster wait "+c.cluster+" --for=condition="+v1alpha1.ConditionAddonsReady))
		}
		return nil
	}
	return verbs.Await(cmd.Context(), c.env, connected, verbs.Waiting{
		Kind: kinds.Cluster, Name: c.cluster, Uid: cluster.UID, Goal: v1alpha1.ConditionAddonsReady, Work: "change", Timeout: c.timeout, Since: begun,
	})
}

// update edits the settings of the cluster as it is now, and says whether they have become others. The edit is of one addon, so
// that it is right whatever another caller changes meanwhile.
func (c *change) update(ctx context.Context, connected *objects.Client, dry bool) (*v1alpha1.Cluster, bool, error) {
	for try := 1; ; try++ {
		cluster, err := kinds.FindAs[*v1alpha1.Cluster](ctx, c.env, connected, kinds.Cluster, c.cluster)
		if err != nil {
			return nil, false, err
		}
		settings, err := c.edit(cluster.Spec.Addons)
		if err != nil {
			return nil, false, err
		}
		if apiequality.Semantic.DeepEqual(settings, cluster.Spec.Addons) {
			return cluster, false, nil
		}
		patch := objects.Patch{Spec: map[string]any{"addons": settings}}
		err = connected.Update(ctx, cluster, patch, cluster.ResourceVersion, dry)
		if err == nil {
			return cluster, true, nil
		}
		if !objects.IsConflict(err) || try == changeTries {
			return nil, false, fmt.Errorf("change addon %s of cluster %s: %w", c.addon, c.cluster, err)
		}
	}
}

// completeSets completes the names of the values of the addon that the command line names.
func completeSets(e *connection.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) < 2 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionDeadline)
		defer cancel()
		a, err := named(ctx, e, args[1])
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		values, err := valuesOf(a)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var found []string
		for _, name := range sorted(values) {
			found = append(found, name+"=\t"+values[name].Description)
		}
		return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
