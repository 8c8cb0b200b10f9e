package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/clusters/manifests"
	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	// importManager is the field manager of these objects.
	importManager = "kqueen-import"
	// account is the name of KQueen's namespace and ServiceAccount there, and tokenSecret that of its token.
	account, tokenSecret = manifests.Account, "kqueen-token"
	// tokenWait is how long the cluster may take to write a token.
	tokenWait = 30 * time.Second
)

// newImportRightsCommand returns `cluster import-rights`.
func newImportRightsCommand(e *connection.Env) *cobra.Command {
	var members bool
	cmd := &cobra.Command{
		Use:   "import-rights",
		Short: "Print what KQueen may in a cluster that is imported, as manifests",
		Long: `Print the manifests that "kqueen cluster import --service-account" applies: a
ServiceAccount for KQueen that may read what the inventory shows, and no Secret. With
--members it may also act as the members of the organization, and their roles have
rights: view, edit and cluster-admin.

KQueen deletes nothing in an imported cluster. When it is not to be reached any more,
delete what these manifests name.`,
		Example: `  kqueen cluster import-rights --members | kubectl apply -f -
  kqueen cluster import-rights --members | kubectl delete -f -`,
		Args: command.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			text, err := manifests.ForAccount(members)
			if err == nil {
				_, err = fmt.Fprint(e.Stdout, text)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&members, "members", false, "let the members of the organization in, with their roles")
	return cmd
}

// createAccount makes KQueen's ServiceAccount in a cluster by the user's own kubeconfig, and returns a kubeconfig for it.
func createAccount(ctx context.Context, target kube.Target, members bool) ([]byte, error) {
	config, err := kube.Config(target)
	if err != nil {
		return nil, err
	}
	c, err := kube.Connect(config, scheme.Scheme)
	if err != nil {
		return nil, err
	}
	text, err := manifests.ForAccount(members)
	if err != nil {
		return nil, err
	}
	objects, err := parseManifests(text)
	if err != nil {
		return nil, err
	}
	if err := kube.Apply(ctx, c, objects, importManager); err != nil {
		return nil, fmt.Errorf("give KQueen its rights in the cluster: %w", err)
	}
	token, authority, err := awaitToken(ctx, c)
	if err != nil {
		return nil, err
	}
	if len(config.CAData) > 0 { // the server may be one before the API server, with a certificate of another authority
		authority = config.CAData
	}
	return writeKubeconfig(config.Host, config.ServerName, authority, token)
}

// awaitToken waits until the cluster has written the token.
func awaitToken(ctx context.Context, c client.Client) (token string, authority []byte, err error) {
	secret := &corev1.Secret{}
	err = wait.PollUntilContextTimeout(ctx, time.Second/2, tokenWait, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, client.ObjectKey{Namespace: account, Name: tokenSecret}, secret)
		return len(secret.Data[corev1.ServiceAccountTokenKey]) > 0, err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return "", nil, exit.Fail(exit.TimedOut, "the cluster has not written a token into Secret %s/%s after %s; its controller manager does that", account, tokenSecret, tokenWait)
	}
	if err != nil {
		return "", nil, fmt.Errorf("read KQueen's token in the cluster: %w", err)
	}
	return string(secret.Data[corev1.ServiceAccountTokenKey]), secret.Data[corev1.ServiceAccountRootCAKey], nil
}

// parseManifests reads objects that are set off by "---".
func parseManifests(text string) ([]client.Object, error) {
	var objects []client.Object
	for document := range strings.SplitSeq(text, "\n---\n") {
		data, err := yaml.YAMLToJSONStrict([]byte(document))
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := o.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		objects = append(objects, o)
	}
	return objects, nil
}

// writeKubeconfig writes a kubeconfig with one context.
func writeKubeconfig(server, serverName string, authority []byte, token string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	cluster := clientcmdapi.NewCluster()
	cluster.Server, cluster.TLSServerName, cluster.CertificateAuthorityData = server, serverName, authority
	user := clientcmdapi.NewAuthInfo()
	user.Token = token
	way := clientcmdapi.NewContext()
	way.Cluster, way.AuthInfo = account, account
	config.Clusters[account], config.AuthInfos[account], config.Contexts[account], config.CurrentContext = cluster, user, way, account
	return clientcmd.Write(*config)
}
