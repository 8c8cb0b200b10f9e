package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
)

// newPasswordCommand returns `password` and what is under it.
func newPasswordCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "password",
		Short:   "Change your password at an installation",
		Example: "  kqueen password change",
	}
	asGroup(cmd)
	cmd.AddCommand(&cobra.Command{
		Use:   "change",
		Short: "Choose another password",
		Long: `Choose another password, at the installation of the current context. You are asked
for both; without a terminal, standard input has the old one on its first line and
the new one on its second. All your sessions and tokens end, this one too.`,
		Example: "  kqueen password change\n  kqueen password change <old-and-new",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := e.door()
			if err != nil {
				return err
			}
			change, err := e.passwordChange(cmd)
			if err != nil {
				return err
			}
			e.signingIn = true // a refusal is about the old password
			if err := d.ChangePassword(cmd.Context(), change); err != nil {
				return fmt.Errorf("change your password: %w", err)
			}
			e.say("your password is changed, and your sessions and tokens have ended; sign in with: kqueen login --username %s", shellQuote(d.User))
			return nil
		},
	})
	return cmd
}

func (e *env) passwordChange(cmd *cobra.Command) (change rest.ChangePassword, err error) {
	if isTerminal(e.stdin) {
		if change.Old, err = e.promptSecret(cmd.Context(), "Old password: "); err == nil {
			change.Password, err = e.promptNewPassword(cmd.Context())
		}
		return change, err
	}
	if change.Old, err = readLine(e.stdin); err == nil {
		change.Password, err = readLine(e.stdin)
	}
	if err != nil {
		return change, usageError(cmd, "read the old and the new password from standard input, a line each: %w", err)
	}
	return change, nil
}
