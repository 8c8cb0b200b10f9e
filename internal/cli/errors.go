package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/client"
)

// Exit codes. They are promised to scripts in `kqueen help exit-codes`.
const (
	codeOK          = 0
	codeError       = 1
	codeUsage       = 2
	codeNotFound    = 3
	codeDenied      = 4
	codeTimedOut    = 5
	codeInterrupted = 130
)

// codedError is an error that knows its exit code.
type codedError struct {
	code int
	err  error
}

func (c *codedError) Error() string { return c.err.Error() }
func (c *codedError) Unwrap() error { return c.err }

// fail returns an error with an exit code.
func fail(code int, format string, args ...any) error {
	return &codedError{code: code, err: fmt.Errorf(format, args...)}
}

// usageError says what is wrong with a command line, and where its help is.
func usageError(cmd *cobra.Command, format string, args ...any) error {
	return fail(codeUsage, "%w\nsee: %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}

// finish tells the user about an error and returns the exit code.
func (e *env) finish(ctx context.Context, err error) int {
	if err == nil {
		return codeOK
	}
	if ctx.Err() != nil {
		e.say("interrupted")
		return codeInterrupted
	}
	e.say("error: %s", e.explain(err))
	return exitCode(err)
}

// exitCode is the exit code for an error.
func exitCode(err error) int {
	var coded *codedError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case problemStatus(err) != 0:
		return codeOfProblem(problemStatus(err))
	case apierrors.IsNotFound(err):
		return codeNotFound
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return codeDenied
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return codeTimedOut
	}
	return codeError
}

// problemStatus is the HTTP status with which a door refused; 0 when none did.
func problemStatus(err error) int {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		return problem.Status
	}
	return 0
}

func codeOfProblem(status int) int {
	switch status {
	case http.StatusNotFound:
		return codeNotFound
	case http.StatusUnauthorized, http.StatusForbidden:
		return codeDenied
	case http.StatusGatewayTimeout:
		return codeTimedOut
	}
	return codeError
}

// explainThroughDoor returns an error of a call through a door in words for its user.
func (e *env) explainThroughDoor(err error) string {
	switch {
	case problemStatus(err) == http.StatusUnauthorized && !e.signingIn:
		return err.Error() + "\nyour session or token is over; sign in with: " + e.command("login")
	case problemStatus(err) == 0 && errors.Is(err, syscall.ECONNREFUSED):
		return "KQueen does not answer at " + e.through + ": " + err.Error()
	}
	return err.Error()
}

// explain returns an error in words for its user.
func (e *env) explain(err error) string {
	var status *apierrors.StatusError
	switch {
	case e.through != "" && !hasCauses(err):
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

func (e *env) explainRefused(err error) string {
	if e.globals.kubeconfig != "" {
		return "the admin plane does not answer: " + err.Error()
	}
	dir, dirErr := e.dataDir()
	if dirErr != nil {
		return dirErr.Error()
	}
	return e.notRunning(dir)
}

// notRunning says that nothing serves a data directory, and what would.
func (e *env) notRunning(dir string) string {
	line := "kqueen up"
	if e.globals.dataDir != "" {
		line += " --data-dir " + shellQuote(dir)
	}
	return fmt.Sprintf("KQueen is not running in %s; start it with: %s", dir, line)
}

// causes returns one line "field: problem" for each cause that an API server gives.
func causes(all []metav1.StatusCause) string {
	lines := make([]string, 0, len(all))
	for _, cause := range all {
		line := "  " + cleanLine(cause.Message)
		// "<nil>" is the API server's name for no field at all.
		if cause.Field != "" && cause.Field != "<nil>" {
			line = "  " + cleanLine(cause.Field) + ": " + cleanLine(cause.Message)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines) // the API server gives them in any order
	return strings.Join(lines, "\n")
}

// newExitCodesTopic is the help page about exit codes. It cannot be run, which makes cobra list it as a topic.
func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: `Data goes to standard output, everything else to standard error.

The exit codes of kqueen are:

  0    done
  1    an error that is none of the following
  2    the command line is wrong; nothing was done
  3    something that was named does not exist
  4    it is denied, or you are not signed in
  5    timed out
  130  interrupted`,
	}
}
