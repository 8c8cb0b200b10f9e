package command

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/exit"
)

// LinuxOnly returns a command that says that it is not in this build.
func LinuxOnly(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short + " (Linux only)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return exit.Fail(exit.Failed, "servers run on Linux; this build of kqueen is a client only")
		},
	}
}
