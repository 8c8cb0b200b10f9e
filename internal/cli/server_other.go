//go:build !linux

package cli

import "github.com/spf13/cobra"

// serverCommands returns stand-ins for the commands that need this machine to be a server.
func serverCommands(*env) []*cobra.Command {
	return []*cobra.Command{
		clientOnly("up", "Start KQueen on this machine"),
		clientOnly("down", "Stop KQueen on this machine"),
		clientOnly("status", "Show what runs on this machine"),
		clientOnly("reset", "Remove everything that KQueen keeps on this machine"),
		clientOnly("etcd", "Be etcd"),
	}
}

// machineCommands returns stand-ins for the commands that make the machine on which they run a node.
func machineCommands(*env) []*cobra.Command {
	return []*cobra.Command{
		clientOnly("join", "Join this machine to a cluster"),
		clientOnly("leave", "Take this machine out of its cluster"),
	}
}

// userServerCommands returns stand-ins for the commands about users that need a server.
func userServerCommands(*env) []*cobra.Command {
	return []*cobra.Command{clientOnly("recover", "Let an administrator in when none can sign in any more")}
}

// releaseServerCommands returns stand-ins for the commands about releases that need a server.
func releaseServerCommands(*env) []*cobra.Command {
	return []*cobra.Command{clientOnly("build", "Build the programs of a release")}
}

// clientOnly returns a command that says that it is not in this build.
func clientOnly(name, short string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              short + " (Linux only)",
		DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return fail(codeError, "servers run on Linux; this build of kqueen is a client only")
		},
	}
}
