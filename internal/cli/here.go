package cli

import (
	"github.com/spf13/cobra"
)

// onThisMachine marks commands that only the owner of a machine can give, on that machine. Somebody who works with
// another installation is told that this is not the one that the command is about.
func onThisMachine(e *env, commands ...*cobra.Command) []*cobra.Command {
	for _, cmd := range commands {
		cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return e.sayHere(cmd) }
	}
	return commands
}

// sayHere tells that a command is about this machine, when the user works with another installation.
func (e *env) sayHere(cmd *cobra.Command) error {
	through, err := e.throughDoor()
	if err != nil || !through {
		return err
	}
	if e.globals.context != "" {
		return usageError(cmd, "--context: %s is about this machine alone; leave it out, and run it on the machine that is meant", cmd.CommandPath())
	}
	k, _, err := e.whereTo()
	if err != nil || e.isHere(k) {
		return nil //nolint:nilerr // a context that cannot be read is not the one that this is about
	}
	e.say("note: %s is about this machine, and not about %s, which you work with", cmd.CommandPath(), k.Server)
	return nil
}
