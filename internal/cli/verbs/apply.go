package verbs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	kqueen "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// fieldManager is the manager of what is applied, unless the user names another.
const fieldManager = "kqueen"

// applying is one run of `apply` or `diff`.
type applying struct {
	env              *connection.Env
	files            []string
	recursive, force bool
	manager          string
	dryRun, format   string
	wait             bool
	timeout          time.Duration
}

// ApplyCommand returns `apply`.
func ApplyCommand(e *connection.Env) *cobra.Command {
	a := &applying{env: e}
	cmd := &cobra.Command{
		Use:   "apply -f FILE",
		Short: "Create or update objects from files",
		Long: `Create or update objects from files, by server-side apply: what exists is merged
with what the file says. Fields that a file no longer sets are removed; fields that
it never set keep their values.

--filename takes a file, a folder (its .yaml, .yml and .json files), or - for
standard input, with objects of any kind that you may write: Organization,
IdentityProvider, Provisioner, BackupStore, Cluster, NodePool and Machine. All
objects are checked before the first is applied, and applied in an order in which
each finds what it needs.

A field that was set to another value in another way, such as by "kqueen nodepool
scale", is a conflict: remove it from the file, or take it over with
--force-conflicts.`,
		Example: `  kqueen apply -f demo.yaml
  kqueen apply -f clusters/ --wait
  kqueen cluster get demo -o yaml | kqueen apply -f - --dry-run
  kqueen apply -f demo.yaml --force-conflicts`,
		Args:              command.NoArguments,
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := a.check(cmd); err != nil {
				return err
			}
			return a.run(cmd.Context())
		},
	}
	a.register(cmd)
	flags := cmd.Flags()
	flags.StringVar(&a.dryRun, "dry-run", dryRunNone, "check and print, but change nothing: none, client, server; without a value, server")
	flags.Lookup("dry-run").NoOptDefVal = DryRunServer
	flags.BoolVar(&a.wait, "wait", false, "wait until all objects are ready")
	command.RegisterTimeout(cmd, &a.timeout)
	command.RegisterOutput(cmd, &a.format, "", []string{"name", "json", "yaml"})
	_ = cmd.RegisterFlagCompletionFunc("dry-run", command.OneOf(dryRunNone, DryRunClient, DryRunServer))
	return cmd
}

// register adds the flags that apply and diff share.
func (a *applying) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVarP(&a.files, "filename", "f", nil, "file or folder with objects, or - for standard input; may be repeated")
	flags.BoolVarP(&a.recursive, "recursive", "R", false, "also the folders within a folder")
	flags.BoolVar(&a.force, "force-conflicts", false, "take over fields that other field managers have set")
	flags.StringVar(&a.manager, "field-manager", fieldManager, "name under which the fields are managed")
	_ = cmd.RegisterFlagCompletionFunc("field-manager", command.NoCompletion)
}

// check refuses command lines that contradict themselves.
func (a *applying) check(cmd *cobra.Command) error {
	switch {
	case len(a.files) == 0 || slices.Contains(a.files, ""):
		return exit.UsageError(cmd, "name a file or a folder with --filename")
	case a.manager == "":
		return exit.UsageError(cmd, "--field-manager: is empty")
	case a.dryRun != "" && !slices.Contains([]string{dryRunNone, DryRunClient, DryRunServer}, a.dryRun):
		return exit.UsageError(cmd, "--dry-run: %q has to be none, client or server", a.dryRun)
	case a.wait && a.dryRun != dryRunNone:
		return exit.UsageError(cmd, "--wait cannot be used with --dry-run=%s, which creates nothing to wait for", a.dryRun)
	case !slices.Contains([]string{"", "name", "json", "yaml"}, a.format):
		return exit.UsageError(cmd, "--output: %q is not a format; choose one of name, json, yaml", a.format)
	}
	return nil
}

func (a *applying) run(ctx context.Context) error {
	all, err := readManifests(a.env, a.files, a.recursive)
	if err != nil {
		return err
	}
	if a.dryRun == DryRunClient {
		for _, m := range all {
			a.env.Say("%s would be applied (dry run)", m)
		}
		return nil
	}
	c, err := a.env.Connect()
	if err != nil {
		return err
	}
	begun := time.Now()
	// A mistake in the last one must not leave the others behind.
	if len(all) > 1 && a.dryRun == dryRunNone {
		if err := a.try(ctx, c, all); err != nil {
			return err
		}
	}
	applied := make([]client.Object, 0, len(all))
	for i, m := range all {
		before, after, err := a.apply(ctx, c, m, a.dryRun == DryRunServer)
		if err != nil {
			for _, left := range all[i+1:] {
				a.env.Say("not applied: %s", left)
			}
			return err
		}
		a.env.Say("%s %s", m, became(before, after, a.dryRun == DryRunServer))
		applied = append(applied, after)
		if err := a.settle(ctx, c, m, before, all[i+1:], begun); err != nil {
			return err
		}
	}
	if err := a.print(applied); err != nil || !a.wait {
		return err
	}
	return a.await(ctx, c, all, begun)
}

// await waits until all objects are ready.
func (a *applying) await(ctx context.Context, c *objects.Client, all []manifest, begun time.Time) error {
	for _, m := range all {
		goal := Waiting{Kind: m.kind, Name: m.said.Name, Goal: v1alpha1.ConditionReady, Work: "reconciliation", Timeout: a.timeout, Since: begun, Quiet: len(all) > 1, Named: len(all) > 1}
		if err := Await(ctx, m.env(a.env), c, goal); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until an organization that is new can have what comes after it.
func (a *applying) settle(ctx context.Context, c *objects.Client, m manifest, before client.Object, rest []manifest, begun time.Time) error {
	within := func(other manifest) bool { return other.namespace == v1alpha1.NamespacePrefix+m.said.Name }
	if m.kind != kinds.Organization || before != nil || a.dryRun != dryRunNone || !slices.ContainsFunc(rest, within) {
		return nil
	}
	goal := Waiting{Kind: m.kind, Name: m.said.Name, Goal: v1alpha1.ConditionReady, Timeout: a.timeout, Since: begun, Quiet: true}
	return Await(ctx, a.env, c, goal)
}

// try lets the server check all objects. Those of an organization that is among them and does not exist yet cannot be checked
// before it exists.
func (a *applying) try(ctx context.Context, c *objects.Client, all []manifest) error {
	coming := map[string]bool{}
	for _, m := range all {
		if coming[m.namespace] {
			continue
		}
		before, _, err := a.apply(ctx, c, m, true)
		if err != nil {
			return err
		}
		if m.kind == kinds.Organization && before == nil {
			coming[v1alpha1.NamespacePrefix+m.said.Name] = true
		}
	}
	return nil
}

// apply applies one object. It returns what there was before, nil for nothing, and what there is now.
func (a *applying) apply(ctx context.Context, c *objects.Client, m manifest, dry bool) (before, after client.Object, err error) {
	if before, err = c.Present(ctx, m.kind.Kind, m.namespace, m.said.Name); err != nil {
		return nil, nil, fmt.Errorf("get %s: %w", m, err)
	}
	after, err = c.Apply(ctx, m.kind.Kind, m.namespace, m.said, kqueen.Apply{Manager: a.manager, Force: a.force, DryRun: dry})
	if objects.IsNotFound(err) && m.namespace != "" {
		if absent := kinds.CheckOrganization(ctx, m.env(a.env), c); absent != nil {
			return nil, nil, absent
		}
	}
	if objects.IsFieldConflict(err) {
		return nil, nil, fmt.Errorf("apply %s: %w\nremove them from the file, or take them over with: --force-conflicts", m, err)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("apply %s: %w", m, err)
	}
	return before, after, nil
}

// became says what became of an object, in the words of kubectl.
func became(before, after client.Object, dry bool) string {
	did := "configured"
	switch {
	case before == nil:
		did = "created"
	case same(before, after):
		return "unchanged"
	}
	if dry {
		return "would be " + did + " (dry run)"
	}
	return did
}

// same says whether what users say of an object is as it was. The status changes all the time.
func same(a, b client.Object) bool {
	return a.GetGeneration() == b.GetGeneration() && maps.Equal(a.GetLabels(), b.GetLabels()) && maps.Equal(a.GetAnnotations(), b.GetAnnotations())
}

func (a *applying) print(applied []client.Object) error {
	if a.format == "" {
		return nil
	}
	out, err := kinds.NewOutput(a.env.Stdout, kinds.Cluster, kinds.OutputOptions{Format: a.format})
	if err != nil {
		return err
	}
	return out.Print(applied, len(applied) == 1)
}
