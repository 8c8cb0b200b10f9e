package release

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewCommand returns `release` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "release",
		Aliases: []string{"releases"},
		Short:   "List and build the Kubernetes versions that clusters can have",
	}
	command.Group(cmd)
	cmd.AddCommand(verbs.ListCommand(e, kinds.Release), verbs.GetCommand(e, kinds.Release))
	return cmd
}
