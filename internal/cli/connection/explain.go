package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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
	if !errors.Is(err, exit.ErrDiffers) {
		e.Say("error: %s", e.Explain(err))
	}
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

// statusSocket is the socket on which KQueen tells how it is, also when it cannot serve anything else.
const statusSocket = "kqueen.sock"

// NotRunning says that no API serves a data directory, and what helps.
func (e *Env) NotRunning(dir string) string {
	line := func(command string) string {
		if e.Flags.dataDir == "" {
			return command
		}
		return command + " --data-dir " + console.ShellQuote(dir)
	}
	if c, err := net.DialTimeout("unix", filepath.Join(dir, statusSocket), time.Second); err == nil {
		_ = c.Close()
		return fmt.Sprintf("KQueen runs in %s, and its REST API is not open; see why with: %s", dir, line("kqueen status"))
	}
	return fmt.Sprintf("KQueen is not running in %s; start it with: %s", dir, line("kqueen up"))
}
