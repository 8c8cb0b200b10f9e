package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newProvisionerCommand returns `provisioner` and what is under it.
func newProvisionerCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "provisioner",
		Aliases: []string{"provisioners"},
		Short:   "Ways to get clusters",
		Example: `  kqueen provisioner list
  kqueen provisioner create ours --driver hosted`,
	}
	asGroup(cmd)
	describe := &cobra.Command{
		Use:               "describe NAME",
		Short:             "Show all about a provisioner, on a page for people",
		Example:           "  kqueen provisioner describe hosted",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(provisionerNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.describeProvisioner(cmd.Context(), args[0])
		},
	}
	update, _ := newUpdateCommand(e, provisionerNoun, `kqueen provisioner update ours --spec '{"parameters":{"region":"north"}}'`)
	cmd.AddCommand(newListCommand(e, provisionerNoun), newGetCommand(e, provisionerNoun), describe,
		newCreateProvisionerCommand(e), update, newDeleteProvisionerCommand(e), newCredentialsCommand(e))
	return cmd
}

func (e *env) describeProvisioner(ctx context.Context, name string) error {
	c, err := e.connect()
	if err != nil {
		return err
	}
	object, err := e.find(ctx, c, provisionerNoun, name)
	if err != nil {
		return err
	}
	provisioner, ok := object.(*v1alpha1.Provisioner)
	if !ok {
		return fmt.Errorf("get provisioner %s: it is a %T", name, object)
	}
	p := &page{}
	p.fields("",
		"Name", provisioner.Name,
		"Namespace", provisioner.Namespace,
		"Age", age(provisioner.CreationTimestamp.Time),
		"Driver", provisioner.Spec.Driver,
		"Next try", nextTry(provisioner.Status.NextTry),
	)
	describeParameters(p, provisioner.Spec.Parameters)
	if about := provisioner.Status.Driver; about != nil {
		describeJSON(p, "Parameters that the driver takes (JSON Schema)", about.ParametersSchema)
		describeJSON(p, "Parameters that it takes for each cluster (JSON Schema)", about.ClusterParametersSchema)
	}
	describeConditions(p, provisioner.Status.Status)
	return p.print(e.stdout)
}
