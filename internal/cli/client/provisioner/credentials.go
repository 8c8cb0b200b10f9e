package provisioner

import (
	"context"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// newCredentialsCommand returns `provisioner credentials` and what is under it.
func newCredentialsCommand(e *connection.Env) *cobra.Command {
	return verbs.Credentials{
		Env: e, Kind: kinds.Provisioner, Of: "provisioner", Like: "ours", Piped: `{"token":"…"}`,
		Long: `Set and remove the credentials with which a provisioner of the organization creates
clusters. The values cannot be read again; only their keys are shown.
These commands are for owners.`,
		Get: func(ctx context.Context, d *client.Client, name string) (*rest.CredentialKeys, error) {
			return d.GetProvisionerCredentials(ctx, e.Organization(), name)
		},
		Set: func(ctx context.Context, d *client.Client, name string, values map[string]string) error {
			return d.SetProvisionerCredentials(ctx, e.Organization(), name, values)
		},
		Remove: func(ctx context.Context, d *client.Client, name string) error {
			return d.RemoveProvisionerCredentials(ctx, e.Organization(), name)
		},
	}.Command()
}
