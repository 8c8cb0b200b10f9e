package exit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
)

// Exit codes. They are promised to scripts in `kqueen help exit-codes`.
const (
	OK          = 0
	Failed      = 1
	Usage       = 2
	NotFound    = 3
	Denied      = 4
	TimedOut    = 5
	Interrupted = 130
)

// Error is an error that knows its exit code.
type Error struct {
	code int
	err  error
}

func (c *Error) Error() string { return c.err.Error() }

func (c *Error) Unwrap() error { return c.err }

// Fail returns an error with an exit code.
func Fail(code int, format string, args ...any) error {
	return &Error{code: code, err: fmt.Errorf(format, args...)}
}

// UsageError says what is wrong with a command line, and where its help is.
func UsageError(cmd *cobra.Command, format string, args ...any) error {
	return Fail(Usage, "%w\nsee: %s --help", fmt.Errorf(format, args...), cmd.CommandPath())
}

// CodeOf is the exit code for an error.
func CodeOf(err error) int {
	var coded *Error
	var problem *client.Problem
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &problem):
		return codeOfProblem(problem)
	case apierrors.IsNotFound(err):
		return NotFound
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return Denied
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err):
		return TimedOut
	}
	return Failed
}

// ProblemStatus is the HTTP status with which the server refused; 0 when it did not.
func ProblemStatus(err error) int {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		return problem.Status
	}
	return 0
}

// ProblemCode is the code of the problem with which the server refused; empty when it did not.
func ProblemCode(err error) string {
	if problem, ok := errors.AsType[*client.Problem](err); ok {
		return problem.Code
	}
	return ""
}

// codeOfProblem heeds that a server that is not KQueen, as a proxy on the way or one of another URL, finds nothing either:
// its answer has no code, and says nothing of what the user has named.
func codeOfProblem(p *client.Problem) int {
	switch {
	case p.Status == http.StatusNotFound && p.Code != "":
		return NotFound
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden, p.Code == rest.OAuthAccessDenied:
		return Denied
	case p.Status == http.StatusGatewayTimeout:
		return TimedOut
	}
	return Failed
}

// ErrDiffers ends a command that compares, when there is a difference: that is data, and nothing more is said of it.
var ErrDiffers = Fail(Failed, "there are differences")

// ErrTimedOut is why a wait ends when its time is up.
var ErrTimedOut = errors.New("timed out")
