package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

func newListAccountTokensCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "list NAME",
		Aliases:           []string{"ls"},
		Short:             "List the tokens of a service account",
		Example:           "  kqueen serviceaccount token list ci",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeAccounts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			all, err := everything(cmd.Context(), func(ctx context.Context, page client.Paging) (*rest.Page[rest.Credential], error) {
				return d.ListServiceAccountTokens(ctx, e.organization(), args[0], page)
			})
			if err != nil {
				return fmt.Errorf("list the tokens of service account %s: %w", args[0], err)
			}
			return e.printData(format, all, credentialRows(all))
		},
	}
	registerOutput(cmd, &format, "table", dataFormats)
	return cmd
}

func newCreateAccountTokenCommand(e *env) *cobra.Command {
	var lifetime time.Duration
	var format string
	cmd := &cobra.Command{
		Use:               "create NAME TOKEN",
		Short:             "Make a token of a service account and print it, once",
		Long:              "Make a token of the service account NAME and print it. It is shown this one time. TOKEN\nsays what it is for.",
		Example:           "  kqueen serviceaccount token create ci deploy --lifetime 720h >token",
		Args:              cobra.MatchAll(names(2, -1), cobra.ExactArgs(2)),
		ValidArgsFunction: e.completeAccounts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lifetime < time.Minute {
				return usageError(cmd, "--lifetime: %s: must be a minute or more", lifetime)
			}
			d, err := e.door()
			if err != nil {
				return err
			}
			issued, err := d.CreateServiceAccountToken(cmd.Context(), e.organization(), args[0], rest.NewToken{Name: args[1], Expires: expiry(lifetime)})
			if err != nil {
				return fmt.Errorf("create a token of service account %s: %w", args[0], err)
			}
			return e.printIssued(format, issued)
		},
	}
	cmd.Flags().DurationVar(&lifetime, "lifetime", 30*24*time.Hour, "how long it is good, at most a year")
	_ = cmd.RegisterFlagCompletionFunc("lifetime", noCompletion)
	registerOutput(cmd, &format, "table", dataFormats)
	return cmd
}

func newRevokeAccountTokenCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "revoke NAME ID...",
		Short:             "End tokens of a service account",
		Example:           "  kqueen serviceaccount token revoke ci 01lg3p88ej0d30qc",
		Args:              names(2, -1),
		ValidArgsFunction: e.completeAccounts(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			for _, id := range args[1:] {
				if err := d.RevokeServiceAccountToken(cmd.Context(), e.organization(), args[0], id); err != nil {
					return fmt.Errorf("revoke %s: %w", id, err)
				}
				e.say("%s is revoked", id)
			}
			return nil
		},
	}
}
