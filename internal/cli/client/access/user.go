package access

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// NewUserCommand returns `user` and what is under it.
func NewUserCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "user",
		Aliases: []string{"users"},
		Short:   "Create, show and delete the users of an installation",
		Long: `Create, show and delete the users of an installation. These commands are for
its administrators. The role of a user in an organization is
set with "kqueen member set".`,
		Example: `  kqueen user create alice --email alice@example.com
  kqueen user disable alice
  kqueen user list`,
	}
	command.Group(cmd)
	cmd.AddCommand(newListUsersCommand(e), newCreateUserCommand(e), newEnableUserCommand(e, false), newEnableUserCommand(e, true),
		newResetUserCommand(e), newGetUserCommand(e), newUpdateUserCommand(e), newSignOutUserCommand(e), newDeleteUserCommand(e))
	return cmd
}

func newListUsersCommand(e *connection.Env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List users",
		Example: "  kqueen user list\n  kqueen user list -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			users, err := connection.Everything(cmd.Context(), d.ListUsers)
			if err != nil {
				return fmt.Errorf("list users: %w", err)
			}
			return e.PrintNamed(format, "user", users, userRows(users))
		},
	}
	command.RegisterOutput(cmd, &format, "table", console.NamedFormats)
	return cmd
}

// userRows are users in a table.
func userRows(users []rest.User) [][]string {
	rows := [][]string{{"NAME", "ADMINISTRATOR", "DISABLED", "PROVIDER", "EMAIL", "SIGNED IN", "AGE"}}
	for i := range users {
		u := &users[i]
		rows = append(rows, []string{u.Name, console.YesNo(u.Admin), console.YesNo(u.Disabled), u.Provider, u.Email, console.Elapsed(u.SignedInAt), console.Elapsed(&u.CreatedAt)})
	}
	return rows
}

func newCreateUserCommand(e *connection.Env) *cobra.Command {
	user := rest.NewUser{}
	var alone bool
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Create a user, and a token with which they choose a password",
		Long: `Create a user of this installation, and print a one-time token with which they
choose a password and sign in. Send it to them in private.

A program with a token that was created with --mint creates users with --no-token. An
administrator who has signed in gets them one by "kqueen user reset".`,
		Example:           "  kqueen user create alice --display-name 'Alice Lang' --email alice@example.com",
		Args:              command.Names(1, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			user.Name = args[0]
			if _, err := d.CreateUser(cmd.Context(), user); err != nil {
				return fmt.Errorf("create user %s: %w", user.Name, err)
			}
			e.Say("user %s created", user.Name)
			if alone {
				return nil
			}
			return reset(cmd.Context(), e, d, user.Name)
		},
	}
	cmd.Flags().StringVar(&user.DisplayName, "display-name", "", "name to show")
	cmd.Flags().StringVar(&user.Email, "email", "", "email address")
	cmd.Flags().BoolVar(&user.Admin, "admin", false, "administrator of the installation")
	cmd.Flags().BoolVar(&alone, "no-token", false, "create no one-time token: the user cannot sign in yet")
	return cmd
}

// reset prints a token with which a user chooses a password.
func reset(ctx context.Context, e *connection.Env, d *connection.API, name string) error {
	once, err := d.ResetUser(ctx, name)
	if err != nil {
		return fmt.Errorf("create a one-time token for user %s: %w", name, err)
	}
	e.Say("until %s they choose a password at %s, or with: kqueen login %s --username %s --one-time-token-file -, which asks for this token:",
		console.When(once.Expires), d.Address()+"/welcome", d.Address(), console.ShellQuote(name))
	_, err = fmt.Fprintln(e.Stdout, console.CleanLine(once.Token))
	return err
}

// newEnableUserCommand returns `user enable` or `user disable`.
func newEnableUserCommand(e *connection.Env, disable bool) *cobra.Command {
	word, short := "enable", "Let users sign in again"
	if disable {
		word, short = "disable", "Keep users from signing in, and end their sessions and tokens"
	}
	return &cobra.Command{
		Use:               word + " NAME...",
		Short:             short,
		Example:           "  kqueen user " + word + " alice",
		Args:              command.Names(1, -1),
		ValidArgsFunction: completeUsers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			for _, name := range args {
				if _, err := d.UpdateUser(cmd.Context(), name, rest.UserChange{Disabled: ptr.To(disable)}); err != nil {
					return fmt.Errorf("%s user %s: %w", word, name, err)
				}
				e.Say("user %s %sd", name, word)
			}
			return nil
		},
	}
}

func newResetUserCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "reset NAME",
		Short:             "Print a token with which a user chooses a new password",
		Example:           "  kqueen user reset alice",
		Args:              command.Names(1, 1),
		ValidArgsFunction: completeUsers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			return reset(cmd.Context(), e, d, args[0])
		},
	}
}

func newDeleteUserCommand(e *connection.Env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete users with all their sessions, tokens and memberships",
		Long: `Delete users with all their sessions, tokens and memberships. What they created
stays.

You are asked first; without a terminal, --yes is required.`,
		Example:           "  kqueen user delete alice --yes",
		Args:              command.Names(1, -1),
		ValidArgsFunction: completeUsers(e),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.API()
			if err != nil {
				return err
			}
			if err := e.Confirmed(cmd, sure, "delete", fmt.Sprintf("Delete %s and all their sessions, tokens and memberships?", console.List(args))); err != nil {
				return err
			}
			for _, name := range args {
				if err := d.DeleteUser(cmd.Context(), name); err != nil {
					return fmt.Errorf("delete user %s: %w", name, err)
				}
				e.Say("user %s deleted", name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}

// completeUsers completes names of users.
func completeUsers(e *connection.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionDeadline)
		defer cancel()
		d, err := e.API()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		users, _ := connection.Everything(ctx, d.ListUsers)
		var found []string
		for i := range users {
			found = append(found, users[i].Name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
