package connection

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
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

// explainThroughDoor returns an error of a call through a door in words for its user.
func (e *Env) explainThroughDoor(err error) string {
	switch {
	case exit.ProblemStatus(err) == http.StatusUnauthorized && !e.SigningIn:
		return err.Error() + "\nyour session or token is over; sign in with: " + e.Command("login")
	case errors.Is(err, syscall.ECONNREFUSED) && strings.HasPrefix(e.Through, localScheme):
		return e.explainRefused(err)
	case exit.ProblemStatus(err) == 0 && errors.Is(err, syscall.ECONNREFUSED):
		return "KQueen does not answer at " + e.Through + ": " + err.Error()
	}
	return err.Error()
}

// Explain returns an error in words for its user.
func (e *Env) Explain(err error) string {
	var status *apierrors.StatusError
	switch {
	case e.Through != "" && !hasCauses(err):
		return e.explainThroughDoor(err)
	case errors.Is(err, syscall.ECONNREFUSED):
		return e.explainRefused(err)
	case apimeta.IsNoMatchError(err):
		return "the API server does not know KQueen's kinds; is it an admin plane? (" + err.Error() + ")"
	case errors.As(err, &status) && hasCauses(err):
		act := strings.TrimSuffix(err.Error(), status.Error())
		return act + "not valid\n" + causes(status.ErrStatus.Details.Causes)
	}
	return err.Error()
}

// hasCauses says whether an error names the fields that are wrong.
func hasCauses(err error) bool {
	var status *apierrors.StatusError
	return errors.As(err, &status) && status.ErrStatus.Details != nil && len(status.ErrStatus.Details.Causes) > 0
}

func (e *Env) explainRefused(err error) string {
	if e.Flags.kubeconfig != "" {
		return "the admin plane does not answer: " + err.Error()
	}
	dir, dirErr := e.dataDir()
	if dirErr != nil {
		return dirErr.Error()
	}
	return e.NotRunning(dir)
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
