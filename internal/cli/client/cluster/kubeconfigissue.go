package cluster

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/hosting/pki"
)

// get gets a kubeconfig that calls kqueen for credentials, or that of the cluster's own administrator.
func (k *kubeconfigs) get(cmd *cobra.Command, name string) ([]byte, error) {
	if k.breakGlass && k.wanted != (clusteraccess.Wanted{}) {
		return nil, exit.UsageError(cmd, "--break-glass goes without --access and --lifetime: it is an administrator's, and does not expire")
	}
	if err := k.wanted.Check(cmd); err != nil {
		return nil, err
	}
	d, err := k.env.API()
	if err != nil {
		return nil, err
	}
	k.organization = k.env.Organization()
	k.entry = clusteraccess.NewEntry(d, k.organization, name)
	if owner := d.DataDir != "" && k.wanted == (clusteraccess.Wanted{}); k.breakGlass || owner {
		made, err := d.BreakGlass(cmd.Context(), k.organization, name)
		if err == nil {
			return []byte(made.Kubeconfig), nil
		}
		// An adopted cluster has none to hand out, and the owner enters it as members do.
		if k.breakGlass || exit.ProblemCode(err) != rest.CodeConflict {
			return nil, clusteraccess.ExplainKubeconfig(cmd.Context(), k.env, name, err)
		}
	}
	made, err := d.IssueKubeconfig(cmd.Context(), k.organization, name, rest.KubeconfigRequest{CredentialRequest: k.wanted.Request(), Context: d.Name})
	if err != nil {
		return nil, clusteraccess.ExplainKubeconfig(cmd.Context(), k.env, name, err)
	}
	return k.withOwnProgram(d, name, made)
}

// withOwnProgram takes of an answer where the cluster is, and says itself which program is called: an installation does
// not say what runs on this machine.
func (k *kubeconfigs) withOwnProgram(d *connection.API, name string, made *rest.Kubeconfig) ([]byte, error) {
	config, err := clientcmd.Load([]byte(made.Kubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: %w", name, err)
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || !slices.Contains(clusteraccess.Accesses, made.Access) {
		return nil, fmt.Errorf("read the kubeconfig of cluster %s: it does not say where the cluster is, or what you may there", name)
	}
	there, entry := config.Clusters[current.Cluster], clusteraccess.NewEntry(d, k.organization, name).Name()
	args := []string{"cluster", "credential", name, "--org", k.organization, "--access", made.Access}
	if made.UID != "" { // an earlier server does not say it
		args = append(args, "--uid", made.UID)
	}
	if k.wanted.Lifetime != 0 {
		args = append(args, "--lifetime", k.wanted.Lifetime.String())
	}
	if d.Name != "" {
		args = append(args, "--context", d.Name)
	}
	if d.DataDir != "" {
		args = append(args, "--data-dir", d.DataDir)
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
