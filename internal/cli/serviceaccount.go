package cli

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// memberRoles are the roles of an organization, from the highest.
var memberRoles = []string{"owner", "operator", "developer", "viewer"}

// newServiceAccountCommand returns `serviceaccount` and what is under it.
func newServiceAccountCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "serviceaccount",
		Aliases: []string{"serviceaccounts", "sa"},
		Short:   "Make, show and delete the service accounts of an organization",
		Long: `Make, show and delete the service accounts of an organization, by which programs
sign in. These commands go through the door (see "kqueen login") and are for owners.`,
		Example: `  kqueen serviceaccount create ci --role developer --org payments
  kqueen serviceaccount token create ci deploy --lifetime 720h --org payments >token`,
	}
	asGroup(cmd)
	tokens := &cobra.Command{
		Use:     "token",
		Aliases: []string{"tokens"},
		Short:   "Make, show and revoke the tokens of a service account",
		Example: "  kqueen serviceaccount token list ci",
	}
	asGroup(tokens)
	tokens.AddCommand(newListAccountTokensCommand(e), newCreateAccountTokenCommand(e), newRevokeAccountTokenCommand(e))
	cmd.AddCommand(newListAccountsCommand(e), newGetAccountCommand(e), newCreateAccountCommand(e), newUpdateAccountCommand(e), newDeleteAccountCommand(e), tokens)
	return cmd
}

// accountRows are service accounts for people.
func accountRows(accounts []rest.ServiceAccount) [][]string {
	rows := [][]string{{"NAME", "ROLE", "DISABLED", "DISPLAY NAME", "AGE"}}
	for i := range accounts {
		a := &accounts[i]
		rows = append(rows, []string{a.Name, a.Role, yesNo(a.Disabled), a.DisplayName, elapsed(&a.CreatedAt)})
	}
	return rows
}

func (e *env) accounts(ctx context.Context, d *door) ([]rest.ServiceAccount, error) {
	return everything(ctx, func(ctx context.Context, page client.Paging) (*rest.Page[rest.ServiceAccount], error) {
		return d.ListServiceAccounts(ctx, e.organization(), page)
	})
}

func newListAccountsCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List service accounts",
		Example: "  kqueen serviceaccount list --org payments\n  kqueen serviceaccount list -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			all, err := e.accounts(cmd.Context(), d)
			if err != nil {
				return fmt.Errorf("list service accounts: %w", err)
			}
			if len(all) == 0 {
				e.say("no service accounts in organization %s\nmake one with: %s", e.organization(), e.command("serviceaccount create NAME --role ROLE"))
			}
			return e.printNamed(format, "serviceaccount", all, accountRows(all))
		},
	}
	registerOutput(cmd, &format, "table", namedFormats)
	return cmd
}

func newGetAccountCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "get NAME",
		Short:             "Show a service account",
		Example:           "  kqueen serviceaccount get ci -o yaml",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeAccounts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			a, err := d.GetServiceAccount(cmd.Context(), e.organization(), args[0])
			if err != nil {
				return fmt.Errorf("get service account %s: %w", args[0], err)
			}
			return e.printNamed(format, "serviceaccount", a, accountRows([]rest.ServiceAccount{*a}))
		},
	}
	registerOutput(cmd, &format, "table", namedFormats)
	return cmd
}

// registerRole adds the flag --role.
func registerRole(cmd *cobra.Command, role *string, usage string) {
	cmd.Flags().StringVar(role, "role", "", usage+": owner, operator, developer or viewer")
	_ = cmd.RegisterFlagCompletionFunc("role", oneOf(memberRoles...))
}

func checkRole(cmd *cobra.Command, role string) error {
	if !slices.Contains(memberRoles, role) {
		return usageError(cmd, "--role: %q has to be owner, operator, developer or viewer", role)
	}
	return nil
}

func newCreateAccountCommand(e *env) *cobra.Command {
	wanted := rest.NewServiceAccount{}
	cmd := &cobra.Command{
		Use:               "create NAME",
		Short:             "Make a service account",
		Long:              "Make a service account. It signs in with a token, which it does not have yet.",
		Example:           "  kqueen serviceaccount create ci --role developer --display-name 'Continuous integration'",
		Args:              names(1, 1),
		ValidArgsFunction: noCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkRole(cmd, wanted.Role); err != nil {
				return err
			}
			d, err := e.door()
			if err != nil {
				return err
			}
			wanted.Name = args[0]
			if _, err := d.CreateServiceAccount(cmd.Context(), e.organization(), wanted); err != nil {
				return fmt.Errorf("create service account %s: %w", wanted.Name, err)
			}
			e.say("service account %s created as %s of organization %s", wanted.Name, wanted.Role, e.organization())
			e.say("make a token for it with: %s", e.command("serviceaccount token create "+shellQuote(wanted.Name)+" TOKEN"))
			return nil
		},
	}
	registerRole(cmd, &wanted.Role, "what it may do")
	cmd.Flags().StringVar(&wanted.DisplayName, "display-name", "", "name for people")
	_ = cmd.RegisterFlagCompletionFunc("display-name", noCompletion)
	return cmd
}

func newUpdateAccountCommand(e *env) *cobra.Command {
	var role string
	var disabled bool
	cmd := &cobra.Command{
		Use:               "update NAME",
		Short:             "Change the role of a service account, disable or enable it",
		Example:           "  kqueen serviceaccount update ci --role viewer\n  kqueen serviceaccount update ci --disabled=false",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeAccounts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := rest.ServiceAccountChange{}
			if cmd.Flags().Changed("role") {
				if err := checkRole(cmd, role); err != nil {
					return err
				}
				change.Role = &role
			}
			if cmd.Flags().Changed("disabled") {
				change.Disabled = ptr.To(disabled)
			}
			if change == (rest.ServiceAccountChange{}) {
				return usageError(cmd, "say what changes, with --role or --disabled")
			}
			d, err := e.door()
			if err != nil {
				return err
			}
			if _, err := d.UpdateServiceAccount(cmd.Context(), e.organization(), args[0], change); err != nil {
				return fmt.Errorf("update service account %s: %w", args[0], err)
			}
			e.say("service account %s updated", args[0])
			return nil
		},
	}
	registerRole(cmd, &role, "what it may do from now on")
	cmd.Flags().BoolVar(&disabled, "disabled", false, "keep it from signing in; --disabled=false lets it again")
	return cmd
}

func newDeleteAccountCommand(e *env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete service accounts with all their tokens",
		Long: `Delete service accounts with all their tokens. What they made stays.

A terminal is asked first. Without one, --yes is required.`,
		Example:           "  kqueen serviceaccount delete ci --yes",
		Args:              names(1, -1),
		ValidArgsFunction: e.completeAccounts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			question := fmt.Sprintf("Delete service accounts %s and all their tokens?", list(args))
			if err := e.confirmed(cmd, sure, "delete", question); err != nil {
				return err
			}
			for _, name := range args {
				if err := d.DeleteServiceAccount(cmd.Context(), e.organization(), name); err != nil {
					return fmt.Errorf("delete service account %s: %w", name, err)
				}
				e.say("service account %s deleted", name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}

// completeAccounts completes the name of a service account, which comes first.
func (e *env) completeAccounts() cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionDeadline)
		defer cancel()
		d, err := e.door()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		accounts, _ := e.accounts(ctx, d)
		var found []string
		for i := range accounts {
			found = append(found, accounts[i].Name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
