// Package cli is the command line of KQueen: a package per subject. It reads flags,
// calls the REST API, and prints; it decides nothing else. Only
// cmd/kqueen enters it.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/client/access"
	"kqueen.io/kqueen/internal/cli/client/activity"
	"kqueen.io/kqueen/internal/cli/client/addon"
	"kqueen.io/kqueen/internal/cli/client/audit"
	"kqueen.io/kqueen/internal/cli/client/backup"
	"kqueen.io/kqueen/internal/cli/client/cluster"
	"kqueen.io/kqueen/internal/cli/client/inventory"
	"kqueen.io/kqueen/internal/cli/client/nodes"
	"kqueen.io/kqueen/internal/cli/client/organization"
	"kqueen.io/kqueen/internal/cli/client/provisioner"
	"kqueen.io/kqueen/internal/cli/client/release"
	"kqueen.io/kqueen/internal/cli/client/rotation"
	"kqueen.io/kqueen/internal/cli/client/upgrade"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/here"
	"kqueen.io/kqueen/internal/cli/host"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/node"
	"kqueen.io/kqueen/internal/cli/program"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// Main runs the program and returns its exit code; `kqueen help exit-codes` lists them. The first of args
// is the name under which the program was called: under the name "etcd" it is `kqueen etcd`.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(connection.New(stdin, stdout, stderr), args)
}

// run is Main in an env. Tests give one that finds nothing of the machine's own installation.
func run(e *connection.Env, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; after it the next one kills, as if no handler listened.
	context.AfterFunc(ctx, stop)

	root := newRoot(e)
	root.SetArgs(arguments(args))
	return e.Finish(ctx, root.ExecuteContext(ctx))
}

// arguments returns what follows the program's name, once the name itself has been heeded.
func arguments(args []string) []string {
	if len(args) == 0 {
		return []string{}
	}
	if filepath.Base(args[0]) == "etcd" {
		return append([]string{"etcd"}, args[1:]...)
	}
	return args[1:]
}

// newRoot returns the whole tree of commands.
func newRoot(e *connection.Env) *cobra.Command {
	root := &cobra.Command{
		Use:   "kqueen",
		Short: "Kubernetes as a service, from one program",
		Long: `KQueen provides Kubernetes clusters to many teams.

Start it on this machine with "kqueen up", and create a cluster with
"kqueen cluster create NAME --wait". Sign in to another installation with
"kqueen login https://SERVER:8443".`,
		Version:       program.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("kqueen {{.Version}}\n")
	command.Group(root)
	root.SetIn(e.Stdin)
	root.SetOut(e.Stdout)
	root.SetErr(e.Stderr)
	root.SetFlagErrorFunc(flagError)
	e.Flags.Register(root)
	_ = root.RegisterFlagCompletionFunc("org", kinds.CompleteNames(e, kinds.Organization, -1))
	clusters, machines, releases, user := cluster.NewCommand(e), nodes.NewNodeCommand(e), release.NewCommand(e), access.NewUserCommand(e)
	clusters.AddCommand(addon.NewClusterCommand(e))
	machines.AddCommand(node.Commands(e)...)
	releases.AddCommand(host.ReleaseCommands(e)...)
	clusters.AddCommand(upgrade.NewClusterCommand(e), upgrade.NewRollbackCommand(e), rotation.NewClusterCommand(e))
	user.AddCommand(host.UserCommands(e)...)
	root.AddCommand(clusters, nodes.NewNodePoolCommand(e), machines, releases, provisioner.NewCommand(e), addon.NewCommand(e), upgrade.NewCommand(e), upgrade.NewRehearsalCommand(e), rotation.NewCommand(e), backup.NewCommand(e), backup.NewScheduleCommand(e), backup.NewRestoreCommand(e), backup.NewStoreCommand(e), newVersionCommand(e), newExitCodesTopic())
	root.AddCommand(organization.NewCommand(e), organization.NewMemberCommand(e), access.NewServiceAccountCommand(e), cluster.NewControlPlaneCommand(e),
		activity.NewEventCommand(e), activity.NewOperationCommand(e), inventory.NewCommand(e))
	root.AddCommand(access.NewLoginCommand(e, func(ctx context.Context) (string, string) { return here.Installation(ctx, e) }), access.NewLogoutCommand(e), access.NewWhoamiCommand(e), access.NewContextCommand(e),
		access.NewPasswordCommand(e), access.NewDeviceCommand(e), user, access.NewIdentityProviderCommand(e), access.NewTokenCommand(e), organization.NewQuotaCommand(e), audit.NewCommand(e, func(from io.Reader) (*rest.AuditReport, bool, error) { return here.VerifyExport(e, from) }))
	root.AddCommand(verbs.ApplyCommand(e), verbs.DiffCommand(e))
	root.AddCommand(host.Commands(e)...)
	root.SetHelpCommand(newHelpCommand(root))
	groupHelp(root)
	return root
}
