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

// NewPasswordCommand returns `password` and what is under it.
func NewPasswordCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "password",
		Short:   "Change your password at an installation",
		Example: "  kqueen password change",
	}
	command.Group(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "change",
		Short: "Choose another password",
		Long: `Choose another password, at the installation of the current context. You are asked
for both; without a terminal, standard input has the old one on its first line and
the new one on its second. All your sessions and tokens end, this one too.`,
		Example: "  kqueen password change\n  kqueen password change <old-and-new",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.Session()
			if err != nil {
				return err
			}
			change, err := passwordChange(cmd, e)
			if err != nil {
				return err
			}
			e.SigningIn = true // a refusal is about the old password
			if err := d.ChangePassword(cmd.Context(), change); err != nil {
				return fmt.Errorf("change your password: %w", err)
			}
			e.Say("your password is changed, and your sessions and tokens have ended; sign in with: kqueen login --username %s", console.ShellQuote(d.User))
			return nil
		},
	})
	return cmd
}

func passwordChange(cmd *cobra.Command, e *connection.Env) (change rest.ChangePassword, err error) {
	if console.IsTerminal(e.Stdin) {
		if change.Old, err = e.PromptSecret(cmd.Context(), "Old password: "); err == nil {
			change.Password, err = e.PromptNewPassword(cmd.Context())
		}
		return change, err
	}
	if change.Old, err = console.ReadLine(e.Stdin); err == nil {
		change.Password, err = console.ReadLine(e.Stdin)
	}
	if err != nil {
		return change, exit.UsageError(cmd, "read the old and the new password from standard input, a line each: %w", err)
	}
	return change, nil
}
