package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// newUserCommand returns `user` and what is under it.
func newUserCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "user",
		Aliases: []string{"users"},
		Short:   "Make, show and delete the users of an installation",
		Long: `Make, show and delete the users of an installation. These commands go through its
door (see "kqueen login") and are for its administrators. What somebody may do in
an organization is said in the organization's members.`,
		Example: `  kqueen user create alice --email alice@example.com
  kqueen user disable alice
  kqueen user list`,
	}
	asGroup(cmd)
	cmd.AddCommand(newListUsersCommand(e), newCreateUserCommand(e), newEnableUserCommand(e, false), newEnableUserCommand(e, true),
		newResetUserCommand(e), newGetUserCommand(e), newUpdateUserCommand(e), newSignOutUserCommand(e), newDeleteUserCommand(e))
	return cmd
}

// everything reads all pages of a list.
func everything[T any](ctx context.Context, page func(context.Context, client.Paging) (*rest.Page[T], error)) ([]T, error) {
	all := []T{}
	for next := (client.Paging{Limit: 500}); ; {
		got, err := page(ctx, next)
		if err != nil {
			return nil, err
		}
		all = append(all, got.Items...)
		if got.Cursor == "" {
			return all, nil
		}
		next.Cursor = got.Cursor
	}
}

func newListUsersCommand(e *env) *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List users",
		Example: "  kqueen user list\n  kqueen user list -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			users, err := everything(cmd.Context(), d.ListUsers)
			if err != nil {
				return fmt.Errorf("list users: %w", err)
			}
			return e.printNamed(format, "user", users, userRows(users))
		},
	}
	registerOutput(cmd, &format, "table", namedFormats)
	return cmd
}

// userRows are users for people.
func userRows(users []rest.User) [][]string {
	rows := [][]string{{"NAME", "ADMINISTRATOR", "DISABLED", "PROVIDER", "EMAIL", "SIGNED IN", "AGE"}}
	for i := range users {
		u := &users[i]
		rows = append(rows, []string{u.Name, yesNo(u.Admin), yesNo(u.Disabled), u.Provider, u.Email, elapsed(u.SignedInAt), elapsed(&u.CreatedAt)})
	}
	return rows
}

func newCreateUserCommand(e *env) *cobra.Command {
	user := rest.NewUser{}
	cmd := &cobra.Command{
		Use:   "create NAME",
		Short: "Make a user, and a token with which they choose a password",
		Long: `Make a user of this installation, and print a one-time token with which they
choose a password and sign in. Hand it to them by a way that others do not read.`,
		Example:           "  kqueen user create alice --display-name 'Alice Lang' --email alice@example.com",
		Args:              names(1, 1),
		ValidArgsFunction: noCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			user.Name = args[0]
			if _, err := d.CreateUser(cmd.Context(), user); err != nil {
				return fmt.Errorf("create user %s: %w", user.Name, err)
			}
			e.say("user %s created", user.Name)
			return e.reset(cmd.Context(), d, user.Name)
		},
	}
	cmd.Flags().StringVar(&user.DisplayName, "display-name", "", "name for people")
	cmd.Flags().StringVar(&user.Email, "email", "", "address for mail")
	cmd.Flags().BoolVar(&user.Admin, "admin", false, "administrator of the installation")
	return cmd
}

// reset prints a token with which a user chooses a password.
func (e *env) reset(ctx context.Context, d *door, name string) error {
	once, err := d.ResetUser(ctx, name)
	if err != nil {
		return fmt.Errorf("make a one-time token for user %s: %w", name, err)
	}
	e.say("until %s they choose a password with: kqueen login %s --username %s --one-time-token TOKEN, where TOKEN is",
		when(once.Expires), d.Server, shellQuote(name))
	_, err = fmt.Fprintln(e.stdout, cleanLine(once.Token))
	return err
}

// newEnableUserCommand returns `user enable` or `user disable`.
func newEnableUserCommand(e *env, disable bool) *cobra.Command {
	word, short := "enable", "Let users sign in again"
	if disable {
		word, short = "disable", "Keep users from signing in, and end their sessions and tokens"
	}
	return &cobra.Command{
		Use:               word + " NAME...",
		Short:             short,
		Example:           "  kqueen user " + word + " alice",
		Args:              names(1, -1),
		ValidArgsFunction: e.completeUsers(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			for _, name := range args {
				if _, err := d.UpdateUser(cmd.Context(), name, rest.UserChange{Disabled: ptr.To(disable)}); err != nil {
					return fmt.Errorf("%s user %s: %w", word, name, err)
				}
				e.say("user %s %sd", name, word)
			}
			return nil
		},
	}
}

func newResetUserCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "reset NAME",
		Short:             "Print a token with which a user chooses a new password",
		Example:           "  kqueen user reset alice",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeUsers(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			return e.reset(cmd.Context(), d, args[0])
		},
	}
}

func newDeleteUserCommand(e *env) *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use:   "delete NAME...",
		Short: "Delete users with all their sessions and tokens",
		Long: `Delete users with all their sessions and tokens. What they made stays.

A terminal is asked first. Without one, --yes is required.`,
		Example:           "  kqueen user delete alice --yes",
		Args:              names(1, -1),
		ValidArgsFunction: e.completeUsers(),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			if err := e.confirmed(cmd, sure, "delete", fmt.Sprintf("Delete %s and all their sessions and tokens?", list(args))); err != nil {
				return err
			}
			for _, name := range args {
				if err := d.DeleteUser(cmd.Context(), name); err != nil {
					return fmt.Errorf("delete user %s: %w", name, err)
				}
				e.say("user %s deleted", name)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&sure, "yes", "y", false, "do not ask")
	return cmd
}

// completeUsers completes names of users.
func (e *env) completeUsers() cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionDeadline)
		defer cancel()
		d, err := e.door()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp // a completion cannot show errors
		}
		users, _ := everything(ctx, d.ListUsers)
		var found []string
		for i := range users {
			found = append(found, users[i].Name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
