package verbs

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/exit"
)

// RegisterDryRun adds the flag --dry-run of commands that change what exists.
func RegisterDryRun(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "dry-run", dryRunNone, "check and print, but change nothing: none, server")
	_ = cmd.RegisterFlagCompletionFunc("dry-run", command.OneOf(dryRunNone, DryRunServer))
}

// DryRun says whether the value of that flag asks that nothing is changed.
func DryRun(cmd *cobra.Command, value string) (bool, error) {
	if value != dryRunNone && value != DryRunServer {
		return false, exit.UsageError(cmd, "--dry-run: %q has to be none or server", value)
	}
	return value == DryRunServer, nil
}
