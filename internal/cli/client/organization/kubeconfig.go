package organization

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// kubeconfig is one run of `organization kubeconfig` or `organization connect`.
type kubeconfig struct {
	env        *connection.Env
	out        string
	merge      bool
	embedToken bool
}

func newKubeconfigCommand(e *connection.Env) *cobra.Command {
	k := &kubeconfig{env: e}
	cmd := &cobra.Command{
		Use:   "kubeconfig NAME",
		Short: "Print a kubeconfig for the objects of an organization",
		Long: `Print a kubeconfig with which kubectl and GitOps tools work on the clusters, node pools
and other objects of an organization, with your roles there. It holds no secret:
kubectl asks kqueen for the session that you are signed in with (see "kqueen login").
The owner of the machine on which KQueen runs has admin.kubeconfig in its data
directory.

With --embed-token the token of KQUEEN_TOKEN is in it, which makes it a secret: for
programs that run elsewhere. Give them the token of a service account.`,
		Example: `  kqueen organization kubeconfig payments >payments.kubeconfig
  KQUEEN_TOKEN=$token kqueen organization kubeconfig payments --embed-token --kubeconfig-out flux.kubeconfig`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Organization, 1),
		RunE:              func(_ *cobra.Command, args []string) error { return k.run(args[0]) },
	}
	cmd.Flags().StringVar(&k.out, "kubeconfig-out", "", "file to write it to")
	cmd.Flags().BoolVar(&k.embedToken, "embed-token", false, "put the token of KQUEEN_TOKEN into it, which makes it a secret")
	return cmd
}

func newConnectCommand(e *connection.Env) *cobra.Command {
	k := &kubeconfig{env: e, merge: true}
	cmd := &cobra.Command{
		Use:   "connect NAME",
		Short: "Connect kubectl to the objects of an organization",
		Long: `Merge the kubeconfig of an organization into yours ($KUBECONFIG or ~/.kube/config) and
make it the current context, so that kubectl works on its clusters, node pools and
other objects, with your roles there. The context is NAME@INSTALLATION.`,
		Example: `  kqueen organization connect payments
  kubectl get clusters`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Organization, 1),
		RunE:              func(_ *cobra.Command, args []string) error { return k.run(args[0]) },
	}
	cmd.Flags().StringVar(&k.out, "kubeconfig", "", "file to merge it into (default $KUBECONFIG or ~/.kube/config)")
	return cmd
}

func (k *kubeconfig) run(organization string) error {
	d, err := k.env.Session()
	if err != nil {
		return err
	}
	if k.embedToken && d.Name != "" {
		return exit.Fail(exit.Usage, "--embed-token: KQUEEN_TOKEN is not set; create a token with: kqueen serviceaccount token create")
	}
	entry := clusteraccess.NewEntry(d, organization, "")
	config := configOf(d, entry, k.embedToken)
	if k.merge {
		return clusteraccess.Target{File: k.out, SwitchOver: true, Next: "get clusters"}.Merge(k.env, config, entry, true)
	}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write the kubeconfig of organization %s: %w", organization, err)
	}
	if k.out == "" {
		_, err = k.env.Stdout.Write(data)
		return err
	}
	if err := atomicfile.Write(k.out, data, 0o600); err != nil {
		return err
	}
	k.env.Say("wrote %s", k.out)
	return nil
}

// configOf is pure. The token is in it only where it is to be embedded.
func configOf(d *connection.API, of clusteraccess.Entry, embed bool) *clientcmdapi.Config {
	name, config := of.Name(), clientcmdapi.NewConfig()
	there, user, way := clientcmdapi.NewCluster(), clientcmdapi.NewAuthInfo(), clientcmdapi.NewContext()
	there.Server, there.CertificateAuthorityData = strings.TrimSuffix(d.Server, "/")+rest.KubernetesPath, []byte(d.Authority)
	if embed {
		user.Token = d.Token
	} else {
		user.Exec = &clientcmdapi.ExecConfig{
			APIVersion: clientauthv1.SchemeGroupVersion.String(), Command: "kqueen", Args: []string{"organization", "credential"},
			InstallHint: "Install kqueen, and sign in with: kqueen login", InteractiveMode: clientcmdapi.NeverExecInteractiveMode,
		}
		if d.Name != "" {
			user.Exec.Args = append(user.Exec.Args, "--context", d.Name)
		}
	}
	way.Cluster, way.AuthInfo, way.Namespace = name, name, v1alpha1.NamespacePrefix+of.Organization
	config.Clusters[name], config.AuthInfos[name], config.Contexts[name], config.CurrentContext = there, user, way, name
	return config
}

// newCredentialCommand returns `organization credential`, which kubectl calls.
func newCredentialCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:    "credential",
		Short:  "Print the session of the current context, for kubectl",
		Hidden: true,
		Long: `Print the session that you are signed in with as an ExecCredential of
client.authentication.k8s.io/v1. kubectl calls this by itself when it uses a
kubeconfig from "kqueen organization kubeconfig".`,
		Example:           "  kqueen organization credential --context kqueen.example.com",
		Args:              cobra.NoArgs,
		ValidArgsFunction: command.NoCompletion,
		RunE: func(*cobra.Command, []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			return json.NewEncoder(e.Stdout).Encode(&clientauthv1.ExecCredential{
				TypeMeta: metav1.TypeMeta{APIVersion: clientauthv1.SchemeGroupVersion.String(), Kind: "ExecCredential"},
				Status:   &clientauthv1.ExecCredentialStatus{Token: d.Token},
			})
		},
	}
}
