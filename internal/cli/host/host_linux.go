package host

import (
	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/here"
)

// Commands returns the commands that need this machine to be a server.
func Commands(e *connection.Env) []*cobra.Command {
	return append(here.Only(e, newUpCommand(e), newDownCommand(e), newStatusCommand(e), newResetCommand(e), newCheckCommand(e), newLogsCommand(e), newSupportBundleCommand(e)),
		newInstallationCommand(e), newKeepCommand(e), newMachineCommand(), newEgressCommand(), newGatewayCommand(), newStoreGateCommand(), newSimulatorCommand(), newEtcdCommand())
}

// UserCommands returns the commands about users that need this machine to be a server.
func UserCommands(e *connection.Env) []*cobra.Command {
	return here.Only(e, newRecoverUserCommand(e))
}

// ReleaseCommands returns the commands about releases that need this machine to be a server.
func ReleaseCommands(e *connection.Env) []*cobra.Command {
	return append(here.Only(e, newReleaseBuildCommand(e)), newReleasePathCommand(e))
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
