package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// getThroughDoor gets a kubeconfig from an installation's door: one that calls kqueen for credentials, or that of the
// cluster's own administrator.
func (k *kubeconfigs) getThroughDoor(cmd *cobra.Command, name string) ([]byte, error) {
	if k.breakGlass && k.wanted != (wantedAccess{}) {
		return nil, usageError(cmd, "--break-glass goes without --access and --lifetime: it is an administrator's, and does not expire")
	}
	if err := k.wanted.check(cmd); err != nil {
		return nil, err
	}
	d, err := k.env.door()
	if err != nil {
		return nil, err
	}
	k.organization = k.env.organization()
	var made *rest.Kubeconfig
	if k.breakGlass {
		made, err = d.BreakGlass(cmd.Context(), k.organization, name)
	} else {
		made, err = d.IssueKubeconfig(cmd.Context(), k.organization, name, rest.KubeconfigRequest{CredentialRequest: k.wanted.request(), Context: d.Name})
	}
	if err != nil {
		return nil, fmt.Errorf("get the kubeconfig of cluster %s of organization %s: %w", name, k.organization, err)
	}
	if k.breakGlass {
		return []byte(made.Kubeconfig), nil
	}
	return k.withOwnProgram(d, name, made)
}

// withOwnProgram takes of an answer where the cluster is, and says itself which program is called: an installation does
// not say what runs on this machine.
func (k *kubeconfigs) withOwnProgram(d *door, name string, made *rest.Kubeconfig) ([]byte, error) {
	config, err := clientcmd.Load([]byte(made.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || !slices.Contains(accesses, made.Access) {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: it does not say where the cluster is, or what you may there", name)
	}
	there, entry := config.Clusters[current.Cluster], k.organization+"-"+name
	args := []string{"cluster", "credential", name, "--org", k.organization, "--access", made.Access}
	if k.wanted.lifetime != 0 {
		args = append(args, "--lifetime", k.wanted.lifetime.String())
	}
	if d.Name != "" {
		args = append(args, "--context", d.Name)
	}
	data, err := pki.Kubeconfig(pki.KubeconfigParams{
		Cluster: entry, Context: entry, User: entry, Server: there.Server, TLSServerName: there.TLSServerName, CA: there.CertificateAuthorityData,
		Exec: &pki.ExecUser{Command: "kqueen", Args: args, InstallHint: "Install kqueen, and sign in with: kqueen login"},
	})
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of cluster %s: %w", name, err)
	}
	k.ownProgram = true
	return data, nil
}

// ownAccess returns a kubeconfig with which this command itself enters a cluster as the user who gave it. It holds a
// credential that soon expires, for the highest access that the user may have.
func (e *env) ownAccess(ctx context.Context, cluster string) ([]byte, error) {
	d, err := e.door()
	if err != nil {
		return nil, err
	}
	made, err := d.IssueKubeconfig(ctx, e.organization(), cluster, rest.KubeconfigRequest{})
	if err != nil {
		return nil, fmt.Errorf("get the kubeconfig of cluster %s: %w", cluster, err)
	}
	config, err := clientcmd.Load([]byte(made.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", cluster, err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: it does not say where the cluster is", cluster)
	}
	got, err := e.credential(ctx, d, cluster, &wantedAccess{})
	if err != nil {
		return nil, err
	}
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{current.AuthInfo: {Token: got.Token}}
	return clientcmd.Write(*config)
}
