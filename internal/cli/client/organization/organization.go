package organization

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewCommand returns `organization` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "organization",
		Aliases: []string{"organizations", "org"},
		Short:   "Create, show and delete organizations",
		Long: `Create, show and delete organizations. Each is a tenant of the installation: it has
members, clusters and a quota. Administrators of the installation create and delete
them and set their quotas; see "kqueen member" for their members.`,
		Example: `  kqueen organization create payments --display-name Payments --max-clusters 5
  kqueen member set user:alice --role operator --org payments
  kqueen organization describe payments`,
	}
	command.Group(cmd)
	cmd.AddCommand(
		verbs.ListCommand(e, kinds.Organization),
		verbs.GetCommand(e, kinds.Organization),
		newDescribeOrganizationCommand(e),
		newCreateOrganizationCommand(e),
		newUpdateOrganizationCommand(e),
		newDeleteOrganizationCommand(e),
		newConnectCommand(e),
		newKubeconfigCommand(e),
		newCredentialCommand(e),
		verbs.WaitCommand(e, kinds.Organization, v1alpha1.ConditionNamespaceReady, v1alpha1.ConditionRolesBound),
	)
	return cmd
}

func newCreateOrganizationCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Organization}
	flags := newOrganizationFlags(e)
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create an organization",
		Long: `Create an organization, from flags or from a file. It has no members yet: an
administrator of the installation adds them with "kqueen member set". It may
have nodes on the host of KQueen only with --machine-provider local.`,
		Example: `  kqueen organization create payments --display-name Payments --max-clusters 5 --max-nodes 20
  kqueen organization create research --release v1.36 --machine-provider local --max-machines local=4 --wait
  kqueen organization create -f organizations.yaml --dry-run=server`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			spec, err := flags.spec(cmd)
			if err != nil {
				return err
			}
			c.FromFlags = func(_ context.Context, _ *objects.Client, _ error, name string) ([]client.Object, error) {
				o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: name}}
				return []client.Object{o}, verbs.IntoSpec(spec, &o.Spec)
			}
			return c.Run(cmd.Context(), args)
		},
	}
	c.Excludes = flags.register(cmd)
	c.Register(cmd)
	return cmd
}

func newUpdateOrganizationCommand(e *connection.Env) *cobra.Command {
	cmd, u := verbs.UpdateCommand(e, kinds.Organization, "kqueen organization update payments --max-clusters 10 --max-nodes none")
	flags := newOrganizationFlags(e)
	flags.register(cmd)
	u.FromFlags = flags.spec
	return cmd
}

func newDeleteOrganizationCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Organization, Content: "members and settings"}
	d.Deleted = func(names []string) {
		api, err := e.API()
		if err != nil {
			return // it was there a moment ago
		}
		installation := clusteraccess.NewEntry(api, "", "").Installation
		clusteraccess.ForgetHere(e, func(c clusteraccess.Entry) bool {
			return c.Installation == installation && slices.Contains(names, c.Organization)
		})
	}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete organizations",
		Long: `Delete organizations. One that still has clusters goes when the last of them is
deleted.

You are asked first; without a terminal, --yes is required.`,
		Example: "  kqueen organization delete payments\n  kqueen organization delete payments --yes --wait=false",
	}
	d.Register(cmd)
	return cmd
}
