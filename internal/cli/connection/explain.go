package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
)

// Finish tells the user about an error and returns the exit code.
func (e *Env) Finish(ctx context.Context, err error) int {
	if err == nil {
		return exit.OK
	}
	if ctx.Err() != nil {
		e.Say("interrupted")
		return exit.Interrupted
	}
	e.Say("error: %s", e.Explain(err))
	return exit.CodeOf(err)
}

// Explain returns an error in words for its user.
func (e *Env) Explain(err error) string {
	var away *net.OpError
	switch {
	case exit.ProblemCode(err) == rest.CodeNeedsFresh:
		return err.Error() + "\nsign in again with: " + e.Command("login")
	case exit.ProblemStatus(err) == http.StatusUnauthorized && !e.SigningIn && e.serverOfEnvironment() != "":
		return err.Error() + "\nthe token in " + TokenVariable + " has expired or was revoked; set it to another"
	case exit.ProblemStatus(err) == http.StatusUnauthorized && !e.SigningIn:
		return err.Error() + "\nyour session or token has expired; sign in with: " + e.Command("login")
	case !errors.Is(err, syscall.ECONNREFUSED):
	case errors.As(err, &away) && away.Net == "unix":
		dir, dirErr := e.dataDir()
		if dirErr != nil {
			return dirErr.Error()
		}
		return e.NotRunning(dir)
	case e.Server != "" && exit.ProblemStatus(err) == 0 && !e.calledAnother(err):
		return "KQueen does not answer at " + e.Server + ": " + err.Error()
	}
	return err.Error()
}

// calledAnother says that what failed was a call to another server than the API: that of a cluster, into which a command
// goes itself.
func (e *Env) calledAnother(err error) bool {
	call, ok := errors.AsType[*url.Error](err)
	return ok && !strings.HasPrefix(call.URL, e.Server)
}

// NotRunning says that nothing serves a data directory, and what would.
func (e *Env) NotRunning(dir string) string {
	line := "kqueen up"
	if e.Flags.dataDir != "" {
		line += " --data-dir " + console.ShellQuote(dir)
	}
	return fmt.Sprintf("KQueen is not running in %s; start it with: %s", dir, line)
}
