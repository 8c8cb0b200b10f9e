package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// kubeconfigs is one run of `cluster kubeconfig`.
type kubeconfigs struct {
	env               *env
	merge, switchOver bool
	out               string
	wanted            wantedAccess
	breakGlass        bool
	// organization that the cluster is of.
	organization string
	// ownProgram says that the program in it was put there by ourselves.
	ownProgram bool
}

// newKubeconfigCommand returns `cluster kubeconfig`.
func newKubeconfigCommand(e *env) *cobra.Command {
	k := &kubeconfigs{env: e}
	cmd := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Print a cluster's kubeconfig, or merge it into yours",
		Long: `Print a kubeconfig for a cluster. It holds no secret: kubectl asks kqueen for a
credential that is good for an hour, and kqueen asks the installation that you
are signed in to (see "kqueen login"). --access and --lifetime ask for less.

On the machine of the installation, with --data-dir or KQUEEN_DATA_DIR or when
you are not signed in anywhere, and elsewhere with --break-glass, it is the
kubeconfig of the cluster's own administrator. That one is a secret: whoever has
it owns the cluster.

With --merge it goes into your own kubeconfig ($KUBECONFIG or ~/.kube/config)
as the context ORGANIZATION-NAME. Your current context stays as it is, unless
you say --switch.`,
		Example: `  kubectl --kubeconfig <(kqueen cluster kubeconfig demo) get namespaces
  kqueen cluster kubeconfig demo --merge --switch
  kqueen cluster kubeconfig demo --org blue --access view --lifetime 30m --merge
  kqueen cluster kubeconfig demo --kubeconfig-out demo.kubeconfig`,
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(clusterNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if k.switchOver && !k.merge {
				return usageError(cmd, "--switch needs --merge")
			}
			return k.run(cmd, args[0])
		},
	}
	k.wanted.register(cmd)
	cmd.Flags().BoolVar(&k.breakGlass, "break-glass", false, "through the door: the kubeconfig of the cluster's own administrator, which is for emergencies and is logged")
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
		k.env.say("wrote %s", k.out)
		return nil
	}
	_, err = k.env.stdout.Write(data)
	return err
}

// get gets the kubeconfig through the door, or as the owner of the installation.
func (k *kubeconfigs) get(cmd *cobra.Command, name string) ([]byte, error) {
	through, err := k.env.throughDoor()
	if err != nil {
		return nil, err
	}
	if through {
		return k.getThroughDoor(cmd, name)
	}
	if k.breakGlass || k.wanted != (wantedAccess{}) {
		return nil, usageError(cmd, "--access, --lifetime and --break-glass go through an installation's door; sign in with: kqueen login")
	}
	k.organization = k.env.organization()
	c, err := k.env.connect()
	if err != nil {
		return nil, err
	}
	return k.env.clusterKubeconfig(cmd.Context(), c, name)
}

// clusterKubeconfig reads the kubeconfig of a cluster, or says what it waits for.
func (e *env) clusterKubeconfig(ctx context.Context, c client.Client, name string) ([]byte, error) {
	object, err := e.find(ctx, c, clusterNoun, name)
	if err != nil {
		return nil, err
	}
	cluster, ok := object.(*v1alpha1.Cluster)
	if !ok {
		return nil, fmt.Errorf("get cluster %s: it is a %T", name, object)
	}
	secret := &corev1.Secret{}
	err = c.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: cluster.KubeconfigSecret()}, secret)
	if client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the kubeconfig of cluster %s: %w", name, err)
	}
	data := secret.Data[v1alpha1.KubeconfigKey]
	if apierrors.IsNotFound(err) || len(data) == 0 {
		return nil, fail(codeError, "cluster %s has no kubeconfig yet: %s\nwait for it with: %s", name, missingCondition(cluster), e.command("cluster wait "+name))
	}
	return data, nil
}

// missingCondition says which condition a cluster's kubeconfig waits for, and why.
func missingCondition(cluster *v1alpha1.Cluster) string {
	for _, name := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady} {
		found := condition(cluster, name)
		if found == nil {
			return "its condition " + name + " is not known yet"
		}
		if found.Status != metav1.ConditionTrue {
			return fmt.Sprintf("its condition %s is %s: %s", name, found.Status, cleanLine(found.Message))
		}
	}
	return "its Secret " + cluster.KubeconfigSecret() + " is missing"
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
		k.env.say("merged cluster %s and switched to its context %s", name, entry)
		return nil
	}
	k.env.say("merged cluster %s as the context %s", name, entry)
	k.env.say("next: kubectl --context %s get namespaces", shellQuote(entry))
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
		if err := checkHarmless(cluster, user); err != nil {
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

// checkHarmless refuses a kubeconfig that starts programs or reads files: it was written elsewhere, and on
// this machine it would do so every time its context is used.
func checkHarmless(cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo) error {
	if user.Exec != nil || user.AuthProvider != nil {
		return fmt.Errorf("it starts a program to log in; print it, read it, and put it in place yourself")
	}
	for _, path := range []string{cluster.CertificateAuthority, user.ClientCertificate, user.ClientKey, user.TokenFile} {
		if path != "" {
			return fmt.Errorf("it reads the file %q; print it, read it, and put it in place yourself", path)
		}
	}
	return nil
}
