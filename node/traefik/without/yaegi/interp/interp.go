// Package interp interprets nothing.
package interp

import (
	"errors"
	"io"
	"reflect"
)

// Exports are symbols by package and name.
type Exports = map[string]map[string]reflect.Value

// Options of an [Interpreter].
type Options struct {
	GoPath         string
	Env            []string
	Stdout, Stderr io.Writer
}

// Interpreter of Go.
type Interpreter struct{}

// New returns one that fails.
func New(Options) *Interpreter { return &Interpreter{} }

// Use fails.
func (*Interpreter) Use(Exports) error { return errors.ErrUnsupported }

// Eval fails.
func (*Interpreter) Eval(string) (reflect.Value, error) {
	return reflect.Value{}, errors.ErrUnsupported
}
