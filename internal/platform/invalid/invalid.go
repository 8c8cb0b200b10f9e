// Package invalid is the error of bad input: which field, what is wrong with it, and what would be right. Trying again
// with the same input cannot help.
//
// It hides nothing. Any package that checks input may import it, and so may those that tell a caller. It is not
// k8s.io/apimachinery's field.Error, because that one repeats the value, which may be a secret.
package invalid

import (
	"fmt"
	"strings"
)

// Error says what is wrong with a value that a caller handed in. It repeats no secret.
type Error struct {
	// Field is the path of the value as the caller wrote it, such as "spec.version".
	Field string
	// Problem says what is wrong with it.
	Problem string
	// Want says what would be right; empty when Problem says it.
	Want string
}

// New returns an *Error of the field.
func New(field, problem string, args ...any) error {
	return &Error{Field: field, Problem: fmt.Sprintf(problem, args...)}
}

// Want returns an *Error of the field that says what would be right.
func Want(field, problem, want string) error {
	return &Error{Field: field, Problem: problem, Want: want}
}

// Detail is what is to be said beside the field.
func (e *Error) Detail() string {
	if e.Want == "" {
		return e.Problem
	}
	return e.Problem + "; want " + e.Want
}

// Error says all of it.
func (e *Error) Error() string {
	return strings.TrimPrefix(e.Field+": "+e.Detail(), ": ")
}
