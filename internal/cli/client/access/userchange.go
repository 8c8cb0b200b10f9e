package access

import (
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

func newGetUserCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "get NAME",
		Short:             "Show a user",
		Example:           "  kqueen user get alice -o yaml",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeUsers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			user, err := d.GetUser(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("get user %s: %w", args[0], err)
			}
			return e.PrintNamed(format, "user", user, userRows([]rest.User{*user}))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

func newUpdateUserCommand(e *connection.Env) *cobra.Command {
	var displayName, email string
	var admin bool
	cmd := &cobra.Command{
		Use:               "update NAME",
		Short:             "Update the name, the email address or the rights of a user",
		Example:           "  kqueen user update alice --email alice@example.com\n  kqueen user update alice --admin=false",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeUsers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			change := rest.UserChange{}
			if cmd.Flags().Changed("display-name") {
				change.DisplayName = &displayName
			}
			if cmd.Flags().Changed("email") {
				change.Email = &email
			}
			if cmd.Flags().Changed("admin") {
				change.Admin = &admin
			}
			if change == (rest.UserChange{}) {
				return exit.UsageError(cmd, "nothing to change; use --display-name, --email or --admin")
			}
			d, err := e.API()
			if err != nil {
				return err
			}
			if _, err := d.UpdateUser(cmd.Context(), args[0], change); err != nil {
				return fmt.Errorf("update user %s: %w", args[0], err)
			}
			e.Say("user %s updated", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&displayName, "display-name", "", "name to show")
	cmd.Flags().StringVar(&email, "email", "", "email address")
	cmd.Flags().BoolVar(&admin, "admin", false, "administrator of the installation; --admin=false to revoke that")
	return cmd
}

func newSignOutUserCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "sign-out NAME...",
		Short:             "Revoke all sessions and tokens of users, who may sign in again",
		Example:           "  kqueen user sign-out alice",
		Args:              command.Names(1, -1),
		ValidArgsFunction: completeUsers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			for _, name := range args {
				if err := d.RevokeUser(cmd.Context(), name); err != nil {
					return fmt.Errorf("end the sessions and tokens of user %s: %w", name, err)
				}
				e.Say("user %s is signed out everywhere", name)
			}
			return nil
		},
	}
}
