package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	var status *apierrors.StatusError
	var away *net.OpError
	switch {
	case errors.As(err, &status) && status.ErrStatus.Details != nil && len(status.ErrStatus.Details.Causes) > 0:
		act := strings.TrimSuffix(err.Error(), status.Error())
		return act + "not valid\n" + causes(status.ErrStatus.Details.Causes)
	case exit.ProblemStatus(err) == http.StatusUnauthorized && !e.SigningIn:
		return err.Error() + "\nyour session or token is over; sign in with: " + e.Command("login")
	case !errors.Is(err, syscall.ECONNREFUSED):
	case errors.As(err, &away) && away.Net == "unix":
		dir, dirErr := e.dataDir()
		if dirErr != nil {
			return dirErr.Error()
		}
		return e.NotRunning(dir)
	case e.Server != "" && exit.ProblemStatus(err) == 0:
		return "KQueen does not answer at " + e.Server + ": " + err.Error()
	}
	return err.Error()
}

// NotRunning says that nothing serves a data directory, and what would.
func (e *Env) NotRunning(dir string) string {
	line := "kqueen up"
	if e.Flags.dataDir != "" {
		line += " --data-dir " + console.ShellQuote(dir)
	}
	return fmt.Sprintf("KQueen is not running in %s; start it with: %s", dir, line)
}

// causes returns one line "field: problem" for each cause that an API server gives.
func causes(all []metav1.StatusCause) string {
	lines := make([]string, 0, len(all))
	for _, cause := range all {
		line := "  " + console.CleanLine(cause.Message)
		// "<nil>" is the API server's name for no field at all.
		if cause.Field != "" && cause.Field != "<nil>" {
			line = "  " + console.CleanLine(cause.Field) + ": " + console.CleanLine(cause.Message)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines) // the API server gives them in any order
	return strings.Join(lines, "\n")
}
