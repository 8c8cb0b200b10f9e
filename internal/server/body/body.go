// Package body reads the JSON that callers send: each key once, and in the letters of the document. A body that says
// something twice, or in other letters, may mean one thing to what checks it and another to what acts on it.
//
// It hides how a key that stands there twice is found. What reads bodies in package server and below may import it.
package body

import (
	"encoding/json"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	strictjson "sigs.k8s.io/json"
)

// The validation that all operations share does not tell capital letters from small ones unless it is told to, and that can
// be said for the whole program alone.
var _ = tellCase()

func tellCase() bool {
	huma.ValidateStrictCasing = true
	return true
}

// DuplicateError says that a key stands twice in one object.
type DuplicateError struct {
	// Field is where, such as "spec.version".
	Field string
}

// Error says which one.
func (e *DuplicateError) Error() string {
	return fmt.Sprintf("%q stands there twice; say it once", e.Field)
}

// Check returns an error for what is no JSON, and a *DuplicateError when a key stands twice in one object.
func Check(data []byte) error {
	var value any
	return unmarshal(data, &value)
}

// Unmarshal is json.Unmarshal for what callers send. Keys that are those of into in other letters are unknown ones; the validation
// refuses these before. It returns a *DuplicateError when a key stands twice in one object.
func Unmarshal(data []byte, into any) error {
	if _, whatever := into.(*any); !whatever {
		return unmarshal(data, into)
	}
	if err := Check(data); err != nil {
		return err
	}
	return json.Unmarshal(data, into) // with numbers as validations know them
}

func unmarshal(data []byte, into any) error {
	twice, err := strictjson.UnmarshalStrict(data, into, strictjson.DisallowDuplicateFields)
	if err != nil || len(twice) == 0 {
		return err
	}
	if at, ok := twice[0].(strictjson.FieldError); ok { //nolint:errorlint // it is that very value
		return &DuplicateError{at.FieldPath()}
	}
	return twice[0]
}
