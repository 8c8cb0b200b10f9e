package provisioner

import (
	"context"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewCommand returns `provisioner` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "provisioner",
		Aliases: []string{"provisioners"},
		Short:   "Manage provisioners, which create clusters",
		Example: `  kqueen provisioner list
  kqueen provisioner create ours --driver hosted`,
	}
	command.Group(cmd)
	show := &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show details of a provisioner",
		Example:           "  kqueen provisioner describe hosted",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Provisioner, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return describeProvisioner(cmd.Context(), e, args[0])
		},
	}
	update, _ := verbs.UpdateCommand(e, kinds.Provisioner, `kqueen provisioner update ours --spec '{"parameters":{"region":"north"}}'`)
	cmd.AddCommand(verbs.ListCommand(e, kinds.Provisioner), verbs.GetCommand(e, kinds.Provisioner), show,
		newCreateProvisionerCommand(e), update, newDeleteProvisionerCommand(e), newCredentialsCommand(e),
		verbs.WaitCommand(e, kinds.Provisioner, v1alpha1.ConditionClustersGone, v1alpha1.ConditionDriverReady))
	return cmd
}

func describeProvisioner(ctx context.Context, e *connection.Env, name string) error {
	c, err := e.Connect()
	if err != nil {
		return err
	}
	provisioner, err := kinds.FindAs[*v1alpha1.Provisioner](ctx, e, c, kinds.Provisioner, name)
	if err != nil {
		return err
	}
	p := &describe.Page{}
	p.Fields("",
		"Name", provisioner.Name,
		"Namespace", provisioner.Namespace,
		"Age", kinds.Age(provisioner.CreationTimestamp.Time),
		"Driver", provisioner.Spec.Driver,
		"Next retry", describe.In(provisioner.Status.NextRetryTime),
	)
	describe.Parameters(p, provisioner.Spec.Parameters)
	if about := provisioner.Status.Driver; about != nil {
		describe.Json(p, "Parameters that the driver takes (JSON Schema)", about.ParametersSchema)
		describe.Json(p, "Parameters that it takes for each cluster (JSON Schema)", about.ClusterParametersSchema)
	}
	describe.Conditions(p, provisioner.Status.Status)
	return p.Print(e.Stdout)
}
