// Package cli is the command line of KQueen: a file per noun. It reads flags,
// speaks to the admin plane, and prints; it decides nothing else. Only
// cmd/kqueen enters it.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
)

// Main runs the program and returns its exit code; `kqueen help exit-codes` lists them. The first of args
// is the name under which the program was called: under the name "etcd" it is `kqueen etcd`.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(newEnv(stdin, stdout, stderr), args)
}

// run is Main in an env. Tests give one that finds nothing of the machine's own installation.
func run(e *env, args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal asks; after it the next one kills, as if nobody listened.
	context.AfterFunc(ctx, stop)

	root := newRoot(e)
	root.SetArgs(arguments(args))
	return e.finish(ctx, root.ExecuteContext(ctx))
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
func newRoot(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "kqueen",
		Short: "Kubernetes as a service, from one program",
		Long: `KQueen makes and keeps Kubernetes clusters for many teams.

Start it on this machine with "kqueen up", then make a cluster with
"kqueen cluster create NAME --wait". Sign in to an installation elsewhere with
"kqueen login https://SERVER:8443".`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	asGroup(root)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(cmd, "%w", err)
	})
	e.globals.register(root)
	node, releases, user := newNodeCommand(e), newReleaseCommand(e), newUserCommand(e)
	node.AddCommand(machineCommands(e)...)
	releases.AddCommand(releaseServerCommands(e)...)
	user.AddCommand(userServerCommands(e)...)
	root.AddCommand(newClusterCommand(e), newNodePoolCommand(e), node, releases, newProvisionerCommand(e), newVersionCommand(e), newExitCodesTopic())
	root.AddCommand(newOrganizationCommand(e), newMemberCommand(e), newServiceAccountCommand(e), newControlPlaneCommand(e),
		newEventCommand(e), newOperationCommand(e))
	root.AddCommand(newLoginCommand(e, func(ctx context.Context) (string, string) { return e.installationHere(ctx) }), newLogoutCommand(e), newWhoamiCommand(e), newContextCommand(e),
		newPasswordCommand(e), newDeviceCommand(e), user, newIdentityProviderCommand(e), newTokenCommand(e), newQuotaCommand(e), newAuditCommand(e, func(from io.Reader) (*rest.AuditReport, bool, error) { return e.verifyExport(from) }))
	root.AddCommand(serverCommands(e)...)
	return root
}

// asGroup makes a command that only holds others say so: without arguments it shows its help, and a word
// that is none of its commands is a mistake and not, as cobra has it, a reason to show help and succeed.
func asGroup(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		hint := ""
		cmd.SuggestionsMinimumDistance = 2
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			hint = fmt.Sprintf(", did you mean %q?", near[0])
		}
		return usageError(cmd, "unknown command %q%s", args[0], hint)
	}
}
