package cli

import (
	"github.com/spf13/cobra"
)

// newExitCodesTopic is the help page about exit codes. It cannot be run, which makes cobra list it as a topic.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Data goes to standard output, everything else to standard error.

The exit codes of kqueen are:

  0    done
  1    an error that is none of the following
  2    the command line is wrong; nothing was done
  3    something that was named does not exist
  4    it is denied, or you are not signed in
  5    timed out
  130  interrupted`,
	}
}
