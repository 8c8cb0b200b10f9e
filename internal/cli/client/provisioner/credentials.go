package provisioner

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// maxCredentials is how much is read of what the user gives as credentials, in bytes. The API takes less.
const maxCredentials = 1 << 20

// newCredentialsCommand returns `provisioner credentials` and what is under it.
func newCredentialsCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "credentials",
		Short: "Set and remove the credentials of a provisioner",
		Long: `Set and remove the credentials with which a provisioner of the organization creates
clusters. The values cannot be read again; only their keys are shown.
These commands are for owners.`,
		Example: `  kqueen provisioner credentials set ours <credentials.yaml
  kqueen provisioner credentials get ours`,
	}
	command.Group(cmd)
	cmd.AddCommand(newGetCredentialsCommand(e), newSetCredentialsCommand(e), newRemoveCredentialsCommand(e))
	return cmd
}

func newGetCredentialsCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "get NAME",
		Short:             "Show which credentials a provisioner has, without their values",
		Example:           "  kqueen provisioner credentials get ours",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Provisioner, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			found, err := d.GetProvisionerCredentials(cmd.Context(), e.Organization(), args[0])
			if err != nil {
				return fmt.Errorf("get the credentials of provisioner %s: %w", args[0], err)
			}
			if len(found.Keys) == 0 {
				e.Say("provisioner %s has no credentials", args[0])
			}
			rows := [][]string{{"KEY", "SET"}}
			for _, key := range found.Keys {
				rows = append(rows, []string{key, console.Elapsed(found.SetAt)})
			}
			return e.PrintData(format, found, rows)
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func newSetCredentialsCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "set NAME",
		Short: "Replace all credentials of a provisioner with those on standard input",
		Long: `Replace all credentials of a provisioner with those on standard input: an object of
keys and values, in YAML or JSON. Arguments could be seen by other users.`,
		Example:           "  kqueen provisioner credentials set ours <credentials.yaml\n  echo '{\"token\":\"…\"}' | kqueen provisioner credentials set ours",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Provisioner, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if console.IsTerminal(e.Stdin) {
				return exit.UsageError(cmd, "give the credentials on standard input: kqueen provisioner credentials set NAME <FILE")
			}
			values, err := readCredentials(e.Stdin)
			if err != nil {
				return exit.Fail(exit.Usage, "read the credentials: %w", err)
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			if err := d.SetProvisionerCredentials(cmd.Context(), e.Organization(), args[0], values); err != nil {
				return fmt.Errorf("set the credentials of provisioner %s: %w", args[0], err)
			}
			e.Say("provisioner %s has new credentials", args[0])
			return nil
		},
	}
}

// readCredentials reads an object of keys and values. Its errors say nothing of what was read.
func readCredentials(from io.Reader) (map[string]string, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxCredentials+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxCredentials {
		return nil, errors.New("there is more than 1 MiB")
	}
	values := map[string]string{}
	// What is wrong may quote a secret, and is not told.
	if err := yaml.UnmarshalStrict(data, &values); err != nil || len(values) == 0 || strings.TrimSpace(string(data)) == "" {
		return nil, errors.New("standard input has to hold an object of keys and texts, in YAML or JSON, each key once")
	}
	return values, nil
}

func newRemoveCredentialsCommand(e *connection.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Aliases: []string{"rm", "delete"},
		Short:   "Remove all credentials of a provisioner",
		Long: `Remove all credentials of a provisioner.

You are asked first; without a terminal, --yes is required.`,
		Example:           "  kqueen provisioner credentials remove ours --yes",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Provisioner, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			if err := e.Confirmed(cmd, sure, "remove", fmt.Sprintf("Remove all credentials of provisioner %s?", args[0])); err != nil {
				return err
			}
			if err := d.RemoveProvisionerCredentials(cmd.Context(), e.Organization(), args[0]); err != nil {
				return fmt.Errorf("remove the credentials of provisioner %s: %w", args[0], err)
			}
			e.Say("provisioner %s has no credentials any more", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}
