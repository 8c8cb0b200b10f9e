//go:build !linux

package host

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
)

// Commands returns stand-ins for the commands that need this machine to be a server.
func Commands(*connection.Env) []*cobra.Command {
	return []*cobra.Command{
		command.LinuxOnly("up", "Start KQueen on this machine"),
		command.LinuxOnly("down", "Stop KQueen on this machine"),
		command.LinuxOnly("status", "Show what runs on this machine"),
		command.LinuxOnly("reset", "Remove everything that KQueen keeps on this machine"),
		command.LinuxOnly("check", "Check whether this host carries so many clusters and nodes"),
		command.LinuxOnly("logs", "Show what KQueen and its programs log"),
		command.LinuxOnly("support-bundle", "Collect what is needed to look for a fault, without secrets"),
		command.LinuxOnly("installation", "Back up and restore the whole installation on this machine"),
		command.LinuxOnly("etcd", "Be etcd"),
	}
}

// UserCommands returns stand-ins for the commands about users that need a server.
func UserCommands(*connection.Env) []*cobra.Command {
	return []*cobra.Command{command.LinuxOnly("recover", "Create another administrator when none can sign in any more")}
}

// ReleaseCommands returns stand-ins for the commands about releases that need a server.
func ReleaseCommands(*connection.Env) []*cobra.Command {
	return []*cobra.Command{command.LinuxOnly("build", "Build the programs of a release")}
}
