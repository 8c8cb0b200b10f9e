package host

import (
	"slices"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/platform/confine"
)

// newKeepCommand is what starts the server again when it crashes. "kqueen up" starts it; users do not.
func newKeepCommand(e *connection.Env) *cobra.Command {
	k := daemon.Keeper{}
	cmd := &cobra.Command{
		Use:    "keep [--adopt PID] -- up [ARGUMENT]...",
		Short:  "Start the server, and start it again when it crashes",
		Hidden: true,
		Args:   cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := e.AbsoluteDataDir()
			if err != nil {
				return err
			}
			k.Dir, k.Args = dir, slices.Concat(args, []string{"--foreground"})
			_ = confine.Keep() // the server, which comes after it, says what it means when that cannot be
			return k.Keep(cmd.Context())
		},
	}
	cmd.Flags().IntVar(&k.Adopt, "adopt", 0, "process of a server that runs already")
	return cmd
}
