package cli

import (
	"github.com/spf13/cobra"
)

// newExitCodesTopic is the help page about exit codes. It cannot be run, which makes cobra list it as a topic.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "Meaning of the exit codes",
		Long: `Data goes to standard output, everything else to standard error.

The exit codes of kqueen are:

  0    success
  1    an error other than the following
  2    the command line is wrong; nothing was changed
  3    not found
  4    access denied, or not signed in
  5    timed out
  130  interrupted`,
	}
}
