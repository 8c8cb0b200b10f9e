package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/exit"
)

// Group makes a command that only holds others say so: without arguments it shows its help, and a word
// that is none of its commands is a mistake and not, as cobra has it, a reason to show help and succeed.
func Group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf(", did you mean %q?", near[0])
		}
		return exit.UsageError(cmd, "unknown command %q%s", args[0], hint)
	}
}
