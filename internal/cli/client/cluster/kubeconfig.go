package cluster

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// kubeconfigs is one run of `cluster kubeconfig`.
type kubeconfigs struct {
	env               *connection.Env
	merge, switchOver bool
	out               string
	wanted            clusteraccess.Wanted
	breakGlass        bool
	// organization that the cluster is of, and entry what it is in kubeconfigs.
	organization string
	entry        clusteraccess.Entry
	// ownProgram says that the program in it was put there by ourselves.
	ownProgram bool
}

// newKubeconfigCommand returns `cluster kubeconfig`.
func newKubeconfigCommand(e *connection.Env) *cobra.Command {
	k := &kubeconfigs{env: e}
	cmd := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Print a cluster's kubeconfig, or merge it into yours",
		Long: `Print a kubeconfig for a cluster. It holds no secret: kubectl asks kqueen for a
credential that expires after an hour, and kqueen asks the installation that you
are signed in to (see "kqueen login"). --access and --lifetime ask for less.

The owner of the machine on which KQueen runs gets the kubeconfig of the cluster's
own administrator, unless --access or --lifetime asks for less; others get it with
--break-glass. It does not expire and is a secret; each time it is issued is in the
audit log.

With --merge it goes into your own kubeconfig ($KUBECONFIG or ~/.kube/config)
as the context ORGANIZATION.NAME@INSTALLATION. Your current context stays as it
is without --switch; "kqueen cluster connect" does both.`,
		Example: `  kqueen cluster kubeconfig demo >demo.kubeconfig
  kqueen cluster kubeconfig demo --merge
  kqueen cluster kubeconfig demo --org blue --access view --lifetime 30m --merge
  kqueen cluster kubeconfig demo --kubeconfig-out demo.kubeconfig`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if k.switchOver && !k.merge {
				return exit.UsageError(cmd, "--switch needs --merge")
			}
			return k.run(cmd, args[0])
		},
	}
	k.wanted.Register(cmd)
	cmd.Flags().BoolVar(&k.breakGlass, "break-glass", false, "get the kubeconfig of the cluster's own administrator, for emergencies; recorded in the audit log")
	cmd.Flags().BoolVar(&k.merge, "merge", false, "merge it into your kubeconfig instead of printing it")
	cmd.Flags().BoolVar(&k.switchOver, "switch", false, "with --merge: make it your current context")
	cmd.Flags().StringVar(&k.out, "kubeconfig-out", "", "file to write it to, or to merge it into")
	return cmd
}

// newConnectCommand returns `cluster connect`.
func newConnectCommand(e *connection.Env) *cobra.Command {
	k := &kubeconfigs{env: e, merge: true, switchOver: true}
	cmd := &cobra.Command{
		Use:   "connect NAME",
		Short: "Connect kubectl, Helm and other tools to a cluster",
		Long: `Merge a cluster's kubeconfig into yours ($KUBECONFIG or ~/.kube/config) and make it
the current context, so that kubectl, Helm and other tools work with the cluster.

The context is ORGANIZATION.NAME@INSTALLATION. It is removed when you delete the
cluster, or reset or forget the installation. What the kubeconfig holds is the same
as with "kqueen cluster kubeconfig".`,
		Example: `  kqueen cluster connect demo
  kqueen cluster connect demo --org blue --access view`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE:              func(cmd *cobra.Command, args []string) error { return k.run(cmd, args[0]) },
	}
	k.wanted.Register(cmd)
	cmd.Flags().BoolVar(&k.breakGlass, "break-glass", false, "get the kubeconfig of the cluster's own administrator, for emergencies; recorded in the audit log")
	cmd.Flags().StringVar(&k.out, "kubeconfig", "", "file to merge it into (default $KUBECONFIG or ~/.kube/config)")
	return cmd
}

func (k *kubeconfigs) run(cmd *cobra.Command, name string) error {
	data, err := k.get(cmd, name)
	if err != nil {
		return err
	}
	switch {
	case k.merge:
		theirs, err := clientcmd.Load(data)
		if err != nil {
			return fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
		}
		into := clusteraccess.Target{File: k.out, SwitchOver: k.switchOver, Next: "get namespaces"}
		return into.Merge(k.env, theirs, k.entry, k.ownProgram)
	case k.out != "":
		if err := atomicfile.Write(k.out, data, 0o600); err != nil {
			return err
		}
		k.env.Say("wrote %s", k.out)
		return nil
	}
	_, err = k.env.Stdout.Write(data)
	return err
}
