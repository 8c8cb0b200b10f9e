package cluster

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
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
	// organization that the cluster is of.
	organization string
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
credential that is good for an hour, and kqueen asks the installation that you
are signed in to (see "kqueen login"). --access and --lifetime ask for less.

The owner of the machine on which KQueen runs gets the kubeconfig of the cluster's
own administrator, unless --access or --lifetime asks for less; others get it with
--break-glass. kubectl needs nothing else with it, and it does not expire: it is a
secret, and each time is in the audit log.

With --merge it goes into your own kubeconfig ($KUBECONFIG or ~/.kube/config)
as the context ORGANIZATION-NAME. Your current context stays as it is, unless
you say --switch.`,
		Example: `  kubectl --kubeconfig <(kqueen cluster kubeconfig demo) get namespaces
  kqueen cluster kubeconfig demo --merge --switch
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
	cmd.Flags().BoolVar(&k.breakGlass, "break-glass", false, "the kubeconfig of the cluster's own administrator, which is for emergencies and is in the audit log")
	cmd.Flags().BoolVar(&k.merge, "merge", false, "merge it into your kubeconfig instead of printing it")
	cmd.Flags().BoolVar(&k.switchOver, "switch", false, "with --merge: make it your current context")
	cmd.Flags().StringVar(&k.out, "kubeconfig-out", "", "file to write it to, or to merge it into")
	return cmd
}

func (k *kubeconfigs) run(cmd *cobra.Command, name string) error {
	data, err := k.get(cmd, name)
	if err != nil {
		return err
	}
	switch {
	case k.merge:
		return k.mergeInto(name, data)
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

// mergeInto merges a cluster's kubeconfig into the user's.
func (k *kubeconfigs) mergeInto(name string, data []byte) error {
	theirs, err := clientcmd.Load(data)
	if err != nil {
		return fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	options := clientcmd.NewDefaultPathOptions()
	if k.out != "" {
		options.LoadingRules.ExplicitPath = k.out
	}
	entry := k.organization + "-" + name
	if err := mergeKubeconfig(options, theirs, entry, k.switchOver, k.ownProgram); err != nil {
		return fmt.Errorf("merge the kubeconfig of cluster %s: %w", name, err)
	}
	if k.switchOver {
		k.env.Say("merged cluster %s and switched to its context %s", name, entry)
		return nil
	}
	k.env.Say("merged cluster %s as the context %s", name, entry)
	k.env.Say("next: kubectl --context %s get namespaces", console.ShellQuote(entry))
	return nil
}

// mergeKubeconfig puts the cluster, user and context that are current in one kubeconfig into another, all
// under the name of the entry. An entry of that name is replaced. ownProgram says that the program in it, by which its
// user logs in, was put there by ourselves.
func mergeKubeconfig(into clientcmd.ConfigAccess, theirs *clientcmdapi.Config, entry string, switchOver, ownProgram bool) error {
	current := theirs.Contexts[theirs.CurrentContext]
	if current == nil {
		return fmt.Errorf("it has no current context")
	}
	cluster, user := theirs.Clusters[current.Cluster], theirs.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return fmt.Errorf("its context %q names a cluster or user that it does not have", theirs.CurrentContext)
	}
	if !ownProgram {
		if err := clusteraccess.CheckHarmless(cluster, user); err != nil {
			return err
		}
	}
	mine, err := into.GetStartingConfig()
	if err != nil {
		return err
	}
	way := &clientcmdapi.Context{Cluster: entry, AuthInfo: entry, Namespace: current.Namespace}
	stayInFile(mine, entry, cluster, user, way)
	mine.Clusters[entry], mine.AuthInfos[entry], mine.Contexts[entry] = cluster, user, way
	if switchOver {
		mine.CurrentContext = entry
	}
	return clientcmd.ModifyConfig(into, *mine, true)
}

// stayInFile makes what replaces an entry be written to the file that the entry is in. KUBECONFIG may list
// several files, and one that comes first would hide the others.
func stayInFile(mine *clientcmdapi.Config, entry string, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo, way *clientcmdapi.Context) {
	cluster.LocationOfOrigin, user.LocationOfOrigin = "", ""
	if old := mine.Clusters[entry]; old != nil {
		cluster.LocationOfOrigin = old.LocationOfOrigin
	}
	if old := mine.AuthInfos[entry]; old != nil {
		user.LocationOfOrigin = old.LocationOfOrigin
	}
	if old := mine.Contexts[entry]; old != nil {
		way.LocationOfOrigin = old.LocationOfOrigin
	}
}
