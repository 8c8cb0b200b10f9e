//go:build !linux

package node

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
)

// Commands returns stand-ins for the commands that make the machine on which they run a node.
func Commands(*connection.Env) []*cobra.Command {
	return []*cobra.Command{
		command.LinuxOnly("join", "Join this machine to a cluster"),
		command.LinuxOnly("leave", "Remove this machine from its cluster"),
	}
}
