package cluster

import (
	"encoding/json"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// newCredentialCommand returns `cluster credential`, which kubectl calls.
func newCredentialCommand(e *connection.Env) *cobra.Command {
	w := &clusteraccess.Wanted{}
	cmd := &cobra.Command{
		Use:    "credential NAME",
		Short:  "Print a short-lived credential for a cluster, for kubectl",
		Hidden: true,
		Long: `Print a short-lived credential for a cluster as an ExecCredential of
client.authentication.k8s.io/v1. kubectl calls this by itself when it uses a
kubeconfig from "kqueen cluster kubeconfig". A credential is kept in a file that
only you can read, and used until shortly before it expires.`,
		Example:           "  kqueen cluster credential demo --org blue --access view --lifetime 1h",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.Check(cmd); err != nil {
				return err
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			got, err := clusteraccess.Credential(cmd.Context(), e, d, args[0], w)
			if err != nil {
				return err
			}
			return json.NewEncoder(e.Stdout).Encode(execCredential(got))
		},
	}
	w.Register(cmd)
	cmd.Flags().StringVar(&w.UID, "uid", "", "UID of the cluster: another one of the same name is refused")
	_ = cmd.RegisterFlagCompletionFunc("uid", command.NoCompletion)
	return cmd
}

// execCredential is a credential as kubectl reads it. kubectl asks again when it expires, which is before it really does.
func execCredential(c *rest.ClusterCredential) *clientauthv1.ExecCredential {
	expires := metav1.NewTime(c.Expires.Add(-clusteraccess.CredentialSpare).UTC())
	return &clientauthv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthv1.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauthv1.ExecCredentialStatus{Token: c.Token, ExpirationTimestamp: &expires},
	}
}
