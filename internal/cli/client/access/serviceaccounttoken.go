package access

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

func newListAccountTokensCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "list NAME",
		Aliases:           []string{"ls"},
		Short:             "List the tokens of a service account",
		Example:           "  kqueen serviceaccount token list ci",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeAccounts(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			all, err := connection.Everything(cmd.Context(), func(ctx context.Context, page client.Paging) (*rest.Page[rest.Credential], error) {
				return d.ListServiceAccountTokens(ctx, e.Organization(), args[0], page)
			})
			if err != nil {
				return fmt.Errorf("list the tokens of service account %s: %w", args[0], err)
			}
			return e.PrintData(format, all, credentialRows(all))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func newCreateAccountTokenCommand(e *connection.Env) *cobra.Command {
	var lifetime time.Duration
	var format string
	var mint bool
	cmd := &cobra.Command{
		Use:   "create NAME TOKEN",
		Short: "Create a token of a service account and print it, once",
		Long: `Create a token of the service account NAME and print it. It is shown only once. TOKEN
describes its purpose.

With --mint a token of an account that is owner of its organization may create
service accounts and tokens, and name members. Tokens that it creates expire with
it at the latest, and end when it is revoked.`,
		Example:           "  kqueen serviceaccount token create ci deploy --lifetime 720h >token",
		Args:              cobra.MatchAll(command.Names(2, -1), cobra.ExactArgs(2)),
		ValidArgsFunction: completeAccounts(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lifetime < time.Minute {
				return exit.UsageError(cmd, "--lifetime: %s: must be a minute or more", lifetime)
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			issued, err := d.CreateServiceAccountToken(cmd.Context(), e.Organization(), args[0], rest.NewToken{Name: args[1], Expires: expiry(lifetime), Mint: mint})
			if err != nil {
				return fmt.Errorf("create a token of service account %s: %w", args[0], err)
			}
			return printIssued(e, format, issued)
		},
	}
	cmd.Flags().DurationVar(&lifetime, "lifetime", 30*24*time.Hour, "lifetime of the token, at most a year")
	_ = cmd.RegisterFlagCompletionFunc("lifetime", command.NoCompletion)
	registerMint(cmd, &mint)
	command.RegisterOutput(cmd, &format, "table", console.DataFormats)
	return cmd
}

func newRevokeAccountTokenCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "revoke NAME ID...",
		Short:             "Revoke tokens of a service account",
		Example:           "  kqueen serviceaccount token revoke ci 01lg3p88ej0d30qc",
		Args:              command.Names(2, -1),
		ValidArgsFunction: completeAccounts(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			for _, id := range args[1:] {
				if err := d.RevokeServiceAccountToken(cmd.Context(), e.Organization(), args[0], id); err != nil {
					return fmt.Errorf("revoke %s: %w", id, err)
				}
				e.Say("%s is revoked", id)
			}
			return nil
		},
	}
}
