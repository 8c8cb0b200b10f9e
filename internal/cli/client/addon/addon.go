package addon

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/exit"
)

// NewCommand returns `addon` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "addon",
		Aliases: []string{"addons"},
		Short:   "Show the addons that clusters can have",
		Long: `Show the addons that clusters can have: applications that KQueen runs in them. See
"kqueen cluster addon" for those of a cluster.`,
		Example: "  kqueen addon list\n  kqueen addon describe coredns",
	}
	command.Group(cmd)
	cmd.AddCommand(newListCommand(e), newDescribeCommand(e))
	return cmd
}

func newListCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the addons that clusters can have",
		Example: "  kqueen addon list\n  kqueen addon list -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := catalogue(cmd.Context(), e)
			if err != nil {
				return err
			}
			rows := [][]string{{"NAME", "DEFAULT", "VERSION", "SUMMARY"}}
			for _, a := range all {
				rows = append(rows, []string{a.Name, byDefault(a), a.Version, a.Summary})
			}
			return e.PrintNamed(format, "addon", all, rows)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

func newDescribeCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show an addon and its values",
		Example:           "  kqueen addon describe coredns\n  kqueen addon describe metrics-server -o json",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeAddons(e, 0),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := named(cmd.Context(), e, args[0])
			if err != nil {
				return err
			}
			if done, err := e.PrintForPrograms(format, a); done || err != nil {
				return err
			}
			values, err := valuesOf(a)
			if err != nil {
				return err
			}
			return page(a, values).Print(e.Stdout)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

// page is what the user reads of an addon.
func page(a rest.Addon, values map[string]value) *describe.Page {
	p := &describe.Page{}
	p.Fields("", "Name", a.Name, "Summary", a.Summary, "Default", byDefault(a), "Version", a.Version, "Kubernetes", a.Kubernetes)
	if len(a.Uses) > 0 {
		p.Heading("Uses")
		rows := [][]string{{"ADDON", "FOR"}}
		for _, use := range a.Uses {
			rows = append(rows, []string{use.Name, use.For})
		}
		p.Table(rows)
	}
	if len(values) == 0 {
		return p
	}
	p.Heading("Values")
	rows := [][]string{{"NAME", "TYPE", "DEFAULT", "ALLOWED", "DESCRIPTION"}}
	for _, name := range sorted(values) {
		v := values[name]
		rows = append(rows, []string{name, v.Type, v.byDefault(), v.allowed(), v.Description})
	}
	p.Table(rows)
	return p
}

// byDefault says which clusters have an addon that no setting speaks of.
func byDefault(a rest.Addon) string {
	if a.CNI != "" {
		return "with CNI " + a.CNI
	}
	return onOff(a.Default)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// catalogue are the addons that clusters can have.
func catalogue(ctx context.Context, e *connection.Env) ([]rest.Addon, error) {
	d, err := e.API()
	if err != nil {
		return nil, err
	}
	all, err := d.ListAddons(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the addons: %w", err)
	}
	return all.Items, nil
}

// named is the addon of a name.
func named(ctx context.Context, e *connection.Env, name string) (rest.Addon, error) {
	all, err := catalogue(ctx, e)
	if err != nil {
		return rest.Addon{}, err
	}
	i := slices.IndexFunc(all, func(a rest.Addon) bool { return a.Name == name })
	if i < 0 {
		return rest.Addon{}, exit.Fail(exit.NotFound, "there is no addon %q; see: %s", name, e.Command("addon list"))
	}
	return all[i], nil
}

// completeAddons completes the name of an addon as the argument after so many others.
func completeAddons(e *connection.Env, after int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) != after {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionDeadline)
		defer cancel()
		all, err := catalogue(ctx, e)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		var found []string
		for _, a := range all {
			found = append(found, a.Name+"\t"+a.Summary)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
