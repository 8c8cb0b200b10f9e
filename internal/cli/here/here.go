package here

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// Only marks commands that only the owner of a machine can give, on that machine. A user who works with
// another installation is told that this is not the one that the command is about.
func Only(e *connection.Env, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return sayHere(cmd, e) }
	}
	return commands
}

// sayHere tells that a command is about this machine, when the user works with another installation.
func sayHere(cmd *cobra.Command, e *connection.Env) error {
	if e.Flags.Context != "" {
		return exit.UsageError(cmd, "--context: %s is about this machine alone; leave it out, and run it on the machine that is meant", cmd.CommandPath())
	}
	elsewhere, err := e.Elsewhere()
	if err != nil || !elsewhere {
		return nil //nolint:nilerr // what contexts that cannot be read name is not what this is about
	}
	k, _, err := e.WhereTo()
	if err != nil || isHere(e, k) {
		return nil //nolint:nilerr // a context that cannot be read is not the one that this is about
	}
	e.Say("note: %s is about this machine, and not about %s, which you work with", cmd.CommandPath(), k.Server)
	return nil
}
