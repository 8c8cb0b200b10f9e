package host

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/hostcheck"
)

// checkFlags are the flags of `check`.
type checkFlags struct {
	size     hostcheck.Size
	output   string
	fix, yes bool
}

// usualSize is what a host is checked for when the user does not say.
func usualSize() hostcheck.Size { return hostcheck.Size{Clusters: 5, Nodes: 5} }

func newCheckCommand(e *connection.Env) *cobra.Command {
	flags := checkFlags{size: usualSize()}
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether this host carries so many clusters and nodes",
		Long: `Check whether this host carries so many clusters and nodes: limits of the kernel,
memory, disk, open files, ports, cgroups and the clock. Each check says what there
is, what is needed, what happens with less, and what to set. Nothing is changed, and
KQueen need not run. The exit code is 1 when a check fails.

With --fix, the settings of the kernel that are too low are shown, and written to
` + hostcheck.SettingsFile + ` when you agree. What takes them back is said.`,
		Example: `  kqueen check
  kqueen check --clusters 20 --nodes 40
  kqueen check --clusters 20 --nodes 0 -o json
  sudo kqueen check --fix`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("nodes") && os.Geteuid() != 0 {
				flags.size.Nodes = 0 // there can be none
			}
			return check(cmd, e, flags)
		},
	}
	f := cmd.Flags()
	f.Int64Var(&flags.size.Clusters, "clusters", flags.size.Clusters, "how many clusters are to run")
	f.Int64Var(&flags.size.Nodes, "nodes", flags.size.Nodes, "how many nodes are to run on this host, of all clusters together; 0 where KQueen does not run as root")
	f.BoolVar(&flags.fix, "fix", false, "write the settings of the kernel that are too low, after you have agreed")
	f.BoolVar(&flags.yes, "yes", false, "do not ask")
	_ = cmd.RegisterFlagCompletionFunc("clusters", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("nodes", command.NoCompletion)
	command.RegisterOutput(cmd, &flags.output, "table", console.DataFormats)
	return cmd
}

// checkReport is what programs read.
type checkReport struct {
	Clusters int64             `json:"clusters"`
	Nodes    int64             `json:"nodes"`
	Checks   []hostcheck.Check `json:"checks"`
}

func check(cmd *cobra.Command, e *connection.Env, flags checkFlags) error {
	if flags.size.Clusters < 0 || flags.size.Nodes < 0 {
		return exit.UsageError(cmd, "--clusters and --nodes: say 0 or more")
	}
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return err
	}
	facts := app.HostFacts(cmd.Context(), app.Config{Dir: dir})
	if flags.fix {
		if err := fixHost(cmd, e, flags, facts, hostcheck.Host()); err != nil {
			return err
		}
		facts.Sysctls = hostcheck.ReadLimits()
	}
	return printChecks(e, flags, hostcheck.All(facts, flags.size))
}

// printChecks prints all, and says of those that failed or warn what to do. Failed ones are an error.
func printChecks(e *connection.Env, flags checkFlags, all []hostcheck.Check) error {
	rows := [][]string{{"CHECK", "RESULT", "FOUND", "NEEDED"}}
	for _, c := range all {
		rows = append(rows, []string{c.Name, string(c.Result), c.Found, c.Needed})
	}
	if err := e.PrintData(flags.output, checkReport{flags.size.Clusters, flags.size.Nodes, all}, rows); err != nil {
		return err
	}
	failed, fixable := hostcheck.Problems(all, hostcheck.Failed), false
	if flags.output == "table" {
		for _, c := range hostcheck.Problems(all, hostcheck.Failed, hostcheck.Warning) {
			e.Say("\n%s: %s\n  why: %s\n  %s", c.Result, c.Name, c.Why, c.Remedy)
			fixable = fixable || c.Result == hostcheck.Failed && c.Setting != nil
		}
		if fixable {
			e.Say("\nSettings of the kernel are written for you, when you agree, by: %s", e.Command("check --fix"))
		}
	}
	if len(failed) > 0 {
		return exit.Fail(exit.Failed, "%d of %d checks failed for %s", len(failed), len(all), flags.size)
	}
	return nil
}

// fixHost writes the settings of the kernel that are too low, when the user agrees.
func fixHost(cmd *cobra.Command, e *connection.Env, flags checkFlags, facts hostcheck.Facts, host hostcheck.Applier) error {
	existing, err := host.Existing()
	if err != nil {
		return fmt.Errorf("read the settings of this host: %w", err)
	}
	plan := hostcheck.Fix(hostcheck.All(facts, flags.size), facts.Sysctls, existing)
	if len(plan.Changes) == 0 {
		e.Say("no setting of the kernel is too low for %s", flags.size)
		return nil
	}
	if !facts.Root {
		return exit.Fail(exit.Denied, "settings of the kernel are written by root alone; run: sudo %s", e.Command("check --fix"))
	}
	e.Say("%s is to be:\n\n  %s", host.File, strings.ReplaceAll(strings.TrimSpace(plan.Content), "\n", "\n  "))
	for _, c := range plan.Changes {
		e.Say("%s changes from %d to %d", c.Sysctl, c.From, c.To)
	}
	if err := e.Confirmed(cmd, flags.yes, "write the file", "Write the file, and set these values now?"); err != nil {
		return err
	}
	if err := host.Apply(plan, atomicfile.Write); err != nil {
		return fmt.Errorf("%w; %s is written, or take it back: %s", err, host.File, strings.Join(plan.Undo(), " && "))
	}
	e.Say("written and set; take it back with:\n  %s", strings.Join(plan.Undo(), "\n  "))
	return nil
}

// firstSize is what every installation is for. What it carries beyond that, it warns of while it runs.
func firstSize(f hostcheck.Facts) hostcheck.Size {
	if f.Root && f.PacketFilter != "" {
		return hostcheck.Size{Clusters: 1, Nodes: 1}
	}
	return hostcheck.Size{Clusters: 1}
}

// judgeHost says what is to be told before KQueen starts, and why it cannot. Ports and the size of the disk are left to what
// takes them, which says it in its own words. It is pure.
func judgeHost(f hostcheck.Facts) (warnings []string, refusal error) {
	f.Ports = nil
	all := hostcheck.All(f, firstSize(f))
	if blocking := hostcheck.Blocking(all); len(blocking) > 0 {
		var words []string
		for _, c := range blocking {
			words = append(words, c.String())
		}
		return nil, exit.Fail(exit.Failed, "KQueen cannot work on this host:\n  %s\nsee: kqueen check --help", strings.Join(words, "\n  "))
	}
	for _, c := range hostcheck.Problems(all, hostcheck.Failed) {
		if c.Name != hostcheck.DiskSpace {
			warnings = append(warnings, c.String())
		}
	}
	return warnings, nil
}
