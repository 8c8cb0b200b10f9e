package access

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// NewServiceAccountCommand returns `serviceaccount` and what is under it.
func NewServiceAccountCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serviceaccount",
		Aliases: []string{"serviceaccounts", "sa"},
		Short:   "Create, show and delete the service accounts of an organization",
		Long: `Create, show and delete the service accounts of an organization, by which programs
sign in. These commands are for owners.`,
		Example: `  kqueen serviceaccount create ci --role developer --org payments
  kqueen serviceaccount token create ci deploy --lifetime 720h --org payments >token`,
	}
	command.Group(cmd)
	tokens := &cobra.Command{
		Use:     "token",
		Aliases: []string{"tokens"},
		Short:   "Create, show and revoke the tokens of a service account",
		Example: "  kqueen serviceaccount token list ci",
	}
	command.Group(tokens)
	tokens.AddCommand(newListAccountTokensCommand(e), newCreateAccountTokenCommand(e), newRevokeAccountTokenCommand(e))
	cmd.AddCommand(newListAccountsCommand(e), newGetAccountCommand(e), newCreateAccountCommand(e), newUpdateAccountCommand(e), newDeleteAccountCommand(e), tokens)
	return cmd
}

// accountRows are service accounts in a table.
func accountRows(accounts []rest.ServiceAccount) [][]string {
	rows := [][]string{{"NAME", "ROLE", "DISABLED", "DISPLAY NAME", "AGE"}}
	for i := range accounts {
		a := &accounts[i]
		rows = append(rows, []string{a.Name, a.Role, console.YesNo(a.Disabled), a.DisplayName, console.Elapsed(&a.CreatedAt)})
	}
	return rows
}

func accounts(ctx context.Context, e *connection.Env, d *connection.API) ([]rest.ServiceAccount, error) {
	return connection.Everything(ctx, func(ctx context.Context, page client.Paging) (*rest.Page[rest.ServiceAccount], error) {
		return d.ListServiceAccounts(ctx, e.Organization(), page)
	})
}

func newListAccountsCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List service accounts",
		Example: "  kqueen serviceaccount list --org payments\n  kqueen serviceaccount list -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			all, err := accounts(cmd.Context(), e, d)
			if err != nil {
				return fmt.Errorf("list service accounts: %w", err)
			}
			if len(all) == 0 {
				e.Say("no service accounts in organization %s\ncreate one with: %s", e.Organization(), e.Command("serviceaccount create NAME --role ROLE"))
			}
			return e.PrintNamed(format, "serviceaccount", all, accountRows(all))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

func newGetAccountCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "get NAME",
		Short:             "Show a service account",
		Example:           "  kqueen serviceaccount get ci -o yaml",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeAccounts(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			a, err := d.GetServiceAccount(cmd.Context(), e.Organization(), args[0])
			if err != nil {
				return fmt.Errorf("get service account %s: %w", args[0], err)
			}
			return e.PrintNamed(format, "serviceaccount", a, accountRows([]rest.ServiceAccount{*a}))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

func newCreateAccountCommand(e *connection.Env) *cobra.Command {
	wanted := rest.NewServiceAccount{}
	cmd := &cobra.Command{
		Use:               "create NAME",
		Short:             "Create a service account",
		Long:              "Create a service account. It signs in with a token, which it does not have yet.",
		Example:           "  kqueen serviceaccount create ci --role developer --display-name 'Continuous integration'",
		Args:              command.Names(1, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.CheckRole(cmd, wanted.Role); err != nil {
				return err
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			wanted.Name = args[0]
			if _, err := d.CreateServiceAccount(cmd.Context(), e.Organization(), wanted); err != nil {
				return fmt.Errorf("create service account %s: %w", wanted.Name, err)
			}
			e.Say("service account %s created as %s of organization %s", wanted.Name, wanted.Role, e.Organization())
			e.Say("create a token for it with: %s", e.Command("serviceaccount token create "+console.ShellQuote(wanted.Name)+" TOKEN"))
			return nil
		},
	}
	command.RegisterRole(cmd, &wanted.Role, "role in the organization")
	cmd.Flags().StringVar(&wanted.DisplayName, "display-name", "", "name to show")
	_ = cmd.RegisterFlagCompletionFunc("display-name", command.NoCompletion)
	return cmd
}

func newUpdateAccountCommand(e *connection.Env) *cobra.Command {
	var role string
	var disabled bool
	cmd := &cobra.Command{
		Use:               "update NAME",
		Short:             "Change the role of a service account, disable or enable it",
		Example:           "  kqueen serviceaccount update ci --role viewer\n  kqueen serviceaccount update ci --disabled=false",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeAccounts(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := rest.ServiceAccountChange{}
			if cmd.Flags().Changed("role") {
				if err := command.CheckRole(cmd, role); err != nil {
					return err
				}
				change.Role = &role
			}
			if cmd.Flags().Changed("disabled") {
				change.Disabled = ptr.To(disabled)
			}
			if change == (rest.ServiceAccountChange{}) {
				return exit.UsageError(cmd, "nothing to change; use --role or --disabled")
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			if _, err := d.UpdateServiceAccount(cmd.Context(), e.Organization(), args[0], change); err != nil {
				return fmt.Errorf("update service account %s: %w", args[0], err)
			}
			e.Say("service account %s updated", args[0])
			return nil
		},
	}
	command.RegisterRole(cmd, &role, "new role")
	cmd.Flags().BoolVar(&disabled, "disabled", false, "disable it; --disabled=false enables it again")
	return cmd
}

func newDeleteAccountCommand(e *connection.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete service accounts with all their tokens",
		Long: `Delete service accounts with all their tokens. What they created stays.

You are asked first; without a terminal, --yes is required.`,
		Example:           "  kqueen serviceaccount delete ci --yes",
		Args:              command.Names(1, -1),
		ValidArgsFunction: completeAccounts(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Delete service accounts %s and all their tokens?", console.List(args))
			if err := e.Confirmed(cmd, sure, "delete", question); err != nil {
				return err
			}
			for _, name := range args {
				if err := d.DeleteServiceAccount(cmd.Context(), e.Organization(), name); err != nil {
					return fmt.Errorf("delete service account %s: %w", name, err)
				}
				e.Say("service account %s deleted", name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}

// completeAccounts completes the name of a service account, which comes first.
func completeAccounts(e *connection.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionDeadline)
		defer cancel()
		d, err := e.API()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		accounts, _ := accounts(ctx, e, d)
		var found []string
		for i := range accounts {
			found = append(found, accounts[i].Name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
