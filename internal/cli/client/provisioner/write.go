package provisioner

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// newCreateProvisionerCommand returns `provisioner create`.
func newCreateProvisionerCommand(e *connection.Env) *cobra.Command {
	c := &verbs.Creation{Env: e, Kind: kinds.Provisioner}
	var driver, parameters string
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create a provisioner of the organization",
		Long: `Create a provisioner of the organization: a driver, which creates clusters, with
its parameters. "kqueen provisioner describe" shows the
parameters of those that there are.`,
		Example: `  kqueen provisioner create ours --driver hosted
  kqueen provisioner create -f provisioner.yaml --dry-run=server`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.Check(cmd, args); err != nil {
				return err
			}
			spec := v1alpha1.ProvisionerSpec{Driver: driver}
			if c.File == "" && driver == "" {
				return exit.UsageError(cmd, "name the driver of the clusters with --driver")
			}
			given, err := verbs.SpecPatch(parameters)
			if err != nil {
				return exit.UsageError(cmd, "--parameters: %w", err)
			}
			if len(given) > 0 {
				data, err := json.Marshal(given)
				if err != nil {
					return fmt.Errorf("write the parameters: %w", err)
				}
				spec.Parameters = &apiextensionsv1.JSON{Raw: data}
			}
			c.FromFlags = func(_ context.Context, _ *objects.Client, _ error, name string) ([]client.Object, error) {
				return []client.Object{&v1alpha1.Provisioner{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}}, nil
			}
			return c.Run(cmd.Context(), args)
		},
	}
	cmd.Flags().StringVar(&driver, "driver", "", "driver that creates the clusters, such as hosted")
	cmd.Flags().StringVar(&parameters, "parameters", "", "parameters of the driver, as JSON or YAML")
	c.Excludes = []string{"driver", "parameters"}
	for _, name := range c.Excludes {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	c.Register(cmd)
	return cmd
}

// newDeleteProvisionerCommand returns `provisioner delete`.
func newDeleteProvisionerCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Provisioner, Content: "settings"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete provisioners of the organization",
		Long: `Delete provisioners of the organization. Those that all organizations share are
the installation's, and only its administrators delete them.

You are asked first; without a terminal, --yes is required.`,
		Example: "  kqueen provisioner delete ours",
	}
	d.Register(cmd)
	return cmd
}
