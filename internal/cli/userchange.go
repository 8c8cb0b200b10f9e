package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
)

func newGetUserCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:               "get NAME",
		Short:             "Show a user",
		Example:           "  kqueen user get alice -o yaml",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeUsers(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			user, err := d.GetUser(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("get user %s: %w", args[0], err)
			}
			return e.printNamed(format, "user", user, userRows([]rest.User{*user}))
		},
	}
	registerOutput(cmd, &format, "table", namedFormats)
	return cmd
}

func newUpdateUserCommand(e *env) *cobra.Command {
	var displayName, email string
	var admin bool
	cmd := &cobra.Command{
		Use:               "update NAME",
		Short:             "Change the name, the mail address or the rights of a user",
		Example:           "  kqueen user update alice --email alice@example.com\n  kqueen user update alice --admin=false",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeUsers(),
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
				return usageError(cmd, "say what changes, with --display-name, --email or --admin")
			}
			d, err := e.door()
			if err != nil {
				return err
			}
			if _, err := d.UpdateUser(cmd.Context(), args[0], change); err != nil {
				return fmt.Errorf("update user %s: %w", args[0], err)
			}
			e.say("user %s updated", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&displayName, "display-name", "", "name for people")
	cmd.Flags().StringVar(&email, "email", "", "address for mail")
	cmd.Flags().BoolVar(&admin, "admin", false, "administrator of the installation; --admin=false for none any more")
	return cmd
}

func newSignOutUserCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "sign-out NAME...",
		Short:             "End all sessions and tokens of users, who may sign in again",
		Example:           "  kqueen user sign-out alice",
		Args:              names(1, -1),
		ValidArgsFunction: e.completeUsers(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			for _, name := range args {
				if err := d.RevokeUser(cmd.Context(), name); err != nil {
					return fmt.Errorf("end the sessions and tokens of user %s: %w", name, err)
				}
				e.say("user %s is signed out everywhere", name)
			}
			return nil
		},
	}
}
