package cli

import (
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
)

// serverCommands returns the commands that need this machine to be a server.
func serverCommands(e *env) []*cobra.Command {
	return append(onThisMachine(e, newUpCommand(e), newDownCommand(e), newStatusCommand(e), newResetCommand(e)),
		newMachineCommand(), newEgressCommand(), newEtcdCommand())
}

// userServerCommands returns the commands about users that need this machine to be a server.
func userServerCommands(e *env) []*cobra.Command {
	return onThisMachine(e, newRecoverUserCommand(e))
}

// releaseServerCommands returns the commands about releases that need this machine to be a server.
func releaseServerCommands(e *env) []*cobra.Command {
	return append(onThisMachine(e, newReleaseBuildCommand(e)), newReleasePathCommand(e))
}

// newEtcdCommand returns the command that is etcd. It takes etcd's own flags and does not return.
func newEtcdCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "etcd [etcd's own flags]",
		Short:              "Be etcd, with etcd's own flags",
		Hidden:             true,
		DisableFlagParsing: true,
		Run: func(_ *cobra.Command, args []string) {
			etcdmain.Main(append([]string{"etcd"}, args...))
		},
	}
}
