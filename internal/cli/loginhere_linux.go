package cli

import (
	"context"
	"errors"
	"time"

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
