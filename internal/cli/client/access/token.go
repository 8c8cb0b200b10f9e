package access

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// NewTokenCommand returns `token` and what is under it.
func NewTokenCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "token",
		Aliases: []string{"tokens"},
		Short:   "Create, show and revoke your API tokens and sessions",
		Long: `Create, show and revoke your API tokens and sessions at an installation. A token is
for a program: it signs in with "kqueen login --token-stdin", or has it in
KQUEEN_TOKEN beside KQUEEN_SERVER.`,
		Example: `  kqueen token create ci --lifetime 720h --org blue --role developer
  kqueen token list
  kqueen token revoke 01lg3p88ej0d30qc`,
	}
	command.Group(cmd)
	cmd.AddCommand(newListTokensCommand(e), newCreateTokenCommand(e), newRevokeTokenCommand(e))
	return cmd
}

func newListTokensCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List your tokens and sessions",
		Example: "  kqueen token list\n  kqueen token list -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			all, err := connection.Everything(cmd.Context(), d.ListCredentials)
			if err != nil {
				return fmt.Errorf("list tokens and sessions: %w", err)
			}
			return e.PrintData(format, all, credentialRows(all))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func newCreateTokenCommand(e *connection.Env) *cobra.Command {
	var lifetime time.Duration
	var role, format string
	var mint bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create an API token and print it, once",
		Long: `Create an API token and print it. It is shown only once. NAME describes its
purpose. Without --role it may do what you may; with it, at most what that role may
in the organization of --org.

With --mint it may create service accounts, users and tokens, and name members, as
far as its role goes. Tokens that it creates expire with it at the latest, and
end when it is revoked.`,
		Example: `  kqueen token create ci --lifetime 720h --org blue --role developer >token
  kqueen token create terraform --lifetime 24h --org blue --role owner --mint >token`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if lifetime < time.Minute {
				return exit.UsageError(cmd, "--lifetime: %s: must be a minute or more", lifetime)
			}
			d, err := e.Session()
			if err != nil {
				return err
			}
			wanted := rest.NewToken{Name: args[0], Expires: expiry(lifetime), Mint: mint}
			if role != "" {
				wanted.Scope = &rest.Scope{Organization: e.Organization(), Role: role}
			}
			issued, err := d.CreateToken(cmd.Context(), wanted)
			if err != nil {
				return fmt.Errorf("create token %s: %w", args[0], err)
			}
			return printIssued(e, format, issued)
		},
	}
	cmd.Flags().DurationVar(&lifetime, "lifetime", 30*24*time.Hour, "lifetime of the token, at most a year")
	cmd.Flags().StringVar(&role, "role", "", "narrow it to a role in the organization of --org: owner, operator, developer or viewer")
	_ = cmd.RegisterFlagCompletionFunc("role", command.OneOf("owner", "operator", "developer", "viewer"))
	registerMint(cmd, &mint)
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func newRevokeTokenCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "revoke ID...",
		Short:             "Revoke your tokens and sessions",
		Example:           "  kqueen token revoke 01lg3p88ej0d30qc",
		Args:              command.Names(1, -1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := d.RevokeCredential(cmd.Context(), id); err != nil {
					return fmt.Errorf("revoke %s: %w", id, err)
				}
				e.Say("%s revoked", id)
			}
			return nil
		},
	}
}

// registerMint adds the flag --mint.
func registerMint(cmd *cobra.Command, mint *bool) {
	cmd.Flags().BoolVar(mint, "mint", false, "allow it to create accounts and tokens, and to add members")
}

// credentialRows are sessions and tokens in a table.
func credentialRows(all []rest.Credential) [][]string {
	rows := [][]string{{"ID", "KIND", "NAME", "SCOPE", "EXPIRES", "LAST USED"}}
	for i := range all {
		c := &all[i]
		scope := ""
		if c.Scope != nil {
			scope = c.Scope.Organization + "/" + c.Scope.Role
		}
		kind := c.Kind
		if c.Mint {
			kind += " (mints)"
		}
		rows = append(rows, []string{c.ID, kind, c.Name, scope, console.When(c.Expires), console.Elapsed(c.LastUsed)})
	}
	return rows
}

// expiry is when a token expires that is good for so long.
func expiry(lifetime time.Duration) time.Time {
	return time.Now().Add(lifetime).UTC().Truncate(time.Second)
}

// printIssued prints a token, the only time that it is shown.
func printIssued(e *connection.Env, format string, issued *rest.Issued) error {
	if done, err := e.PrintForPrograms(format, issued); done || err != nil {
		return err
	}
	e.Say("token %s (%s) expires at %s", issued.Name, issued.ID, console.When(issued.Expires))
	_, err := fmt.Fprintln(e.Stdout, console.CleanLine(issued.Token))
	return err
}
