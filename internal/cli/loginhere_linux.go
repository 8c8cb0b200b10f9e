package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/internal/app"
)

// installationHere is the door of the installation in the data directory, when it runs and this user owns it: its URL
// and its authority. Empty when there is none.
func (e *env) installationHere(ctx context.Context) (server, authority string) {
	dir, err := e.absoluteDataDir()
	if err != nil {
		return "", ""
	}
	status, err := app.ReadStatus(ctx, dir)
	if err != nil || status.API == "" {
		return "", ""
	}
	pem, err := app.DoorAuthority(dir)
	if err != nil {
		return "", ""
	}
	return status.API, string(pem)
}

// newRecoverUserCommand returns `user recover`.
func newRecoverUserCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Let an administrator in when none can sign in any more",
		Long: `Print a token with which you make another administrator of the installation on this
machine, because the password of the only one is forgotten, or the identity provider
of all of them is gone. It is for the owner of the data directory, is good once and
for an hour, and is in the action log. The new administrator can give the others new
passwords with "kqueen user reset".`,
		Example: `  kqueen user recover
  kqueen login --username rescue --setup-token TOKEN`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.absoluteDataDir()
			if err != nil {
				return err
			}
			setup, err := app.NewRecovery(cmd.Context(), dir)
			if errors.Is(err, app.ErrNotRunning) {
				return fail(codeError, "%s", e.notRunning(dir))
			}
			if err != nil {
				return fmt.Errorf("ask for another administrator: %w", err)
			}
			e.say("within %s make another administrator with: %s, where TOKEN is",
				duration.HumanDuration(time.Until(setup.Expires).Round(time.Minute)), e.command("login "+setup.API+" --username NAME --setup-token TOKEN"))
			_, err = fmt.Fprintln(e.stdout, cleanLine(setup.Token))
			return err
		},
	}
}

// inviteAdministrator tells how the first administrator signs in, when there is nobody yet. The line holds a secret:
// it is for who started KQueen, and not for a log.
func (e *env) inviteAdministrator(ctx context.Context, dir string) {
	setup, err := app.NewSetup(ctx, dir)
	if errors.Is(err, app.ErrNotRunning) {
		return
	}
	if err != nil {
		e.say("warning: ask for the first administrator: %v", err)
		return
	}
	if setup.Token == "" {
		return
	}
	e.say("Nobody can sign in yet. Make the first administrator, within %s, with:\n  %s",
		duration.HumanDuration(time.Until(setup.Expires).Round(time.Minute)), e.command("login "+setup.API+" --setup-token "+setup.Token))
}
