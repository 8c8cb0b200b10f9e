package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/server/status"
)

// newRecoverUserCommand returns `user recover`.
func newRecoverUserCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "recover",
		Short: "Create another administrator when none can sign in any more",
		Long: `Print a token with which you create another administrator of the installation on
this machine, when the password of the only one is forgotten, or the identity
provider of all of them is gone. It is for the owner of the data directory, expires
after an hour, can be used once, and is recorded in the audit log. The new
administrator can give the others new passwords with "kqueen user reset".`,
		Example: `  kqueen user recover
  kqueen login --username rescue --setup-token-file -`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := e.AbsoluteDataDir()
			if err != nil {
				return err
			}
			setup, err := status.NewRecovery(cmd.Context(), dir)
			if errors.Is(err, status.ErrNotRunning) {
				return exit.Fail(exit.Failed, "%s", e.NotRunning(dir))
			}
			if err != nil {
				return fmt.Errorf("ask for another administrator: %w", err)
			}
			e.Say("within %s create another administrator with: %s, which asks for this token:",
				duration.HumanDuration(time.Until(setup.Expires).Round(time.Minute)), e.Command("login "+setup.API+" --username NAME --setup-token-file -"))
			_, err = fmt.Fprintln(e.Stdout, console.CleanLine(setup.Token))
			return err
		},
	}
}

// inviteAdministrator tells how the first administrator signs in, when there is none yet. The link and the last
// line are secrets: they are for the user who started KQueen, and not for a log. The command holds none, and may be copied.
func inviteAdministrator(ctx context.Context, e *connection.Env, dir string) {
	setup, err := status.NewSetup(ctx, dir)
	who := "No user can sign in yet"
	if err == nil && setup.Token == "" && withoutAdministrator(ctx, e, dir) {
		who = "No administrator can sign in yet"
		setup, err = status.NewRecovery(ctx, dir)
	}
	if errors.Is(err, status.ErrNotRunning) {
		return
	}
	if err != nil {
		e.Say("warning: ask for the first administrator: %v", err)
		return
	}
	if setup.Token == "" {
		return
	}
	e.Say("%s", invitation(who, setup, time.Until(setup.Expires), e.Command))
}

// invitation is what inviteAdministrator says. A command's arguments are in the list of processes while it waits for the password. It is pure.
func invitation(who string, setup *status.Setup, left time.Duration, as func(string) string) string {
	return fmt.Sprintf("%s. Create the first administrator, within %s, in the portal:\n  %s\nor with:\n  %s\nwhich asks for this token:\n  %s",
		who, duration.HumanDuration(left.Round(time.Minute)), setup.API+"/setup?token="+setup.Token,
		as("login "+setup.API+" --setup-token-file -"), setup.Token)
}

// withoutAdministrator says whether an installation is for demonstrations and has users of which none is an administrator: those that it
// was filled with are none. Elsewhere its owner asks for another administrator with "kqueen user recover".
func withoutAdministrator(ctx context.Context, e *connection.Env, dir string) bool {
	found, err := status.Read(ctx, dir)
	if err != nil || !found.Demo {
		return false
	}
	local := *e // errors that follow are not about this call
	api, err := local.Local()
	if err != nil {
		return false
	}
	var page client.Paging
	for {
		some, err := api.ListUsers(ctx, page)
		if err != nil || slices.ContainsFunc(some.Items, func(u rest.User) bool { return u.Admin }) {
			return false
		}
		if page.Cursor = some.Cursor; page.Cursor == "" {
			return true
		}
	}
}
