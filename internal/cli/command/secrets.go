package command

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/exit"
)

// RefuseSecrets has a command refuse flags that were secrets, and say what to use instead. What is an argument stands in
// the list of processes for every user of the machine, as long as the command runs. The command has its RunE already.
func RefuseSecrets(cmd *cobra.Command, instead map[string]string) {
	names := slices.Sorted(maps.Keys(instead))
	for _, name := range names {
		cmd.Flags().String(name, "", "")
		_ = cmd.Flags().MarkHidden(name)
	}
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		for _, name := range names {
			if cmd.Flags().Changed(name) {
				return exit.UsageError(cmd, "--%s: every user of this machine can see the arguments of commands; use %s. The one that you gave was exposed: ask for another", name, instead[name])
			}
		}
		return run(cmd, args)
	}
}
