package command

import (
	"time"

	"github.com/spf13/cobra"
)

// defaultPatience is how long commands wait unless they are told otherwise.
const defaultPatience = 5 * time.Minute

// RegisterTimeout adds the flag --timeout.
func RegisterTimeout(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", defaultPatience, "maximum time to wait")
	_ = cmd.RegisterFlagCompletionFunc("timeout", NoCompletion)
}
