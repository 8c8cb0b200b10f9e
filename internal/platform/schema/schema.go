// Package schema checks what users write in free form, such as the parameters of a driver and the values of an addon, against
// the JSON Schema of what takes it. It hides the library, and names the innermost place that does not fit. Any package may
// import it.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// Check checks an object, which may be nil for an empty one, against a JSON Schema. field is where it
// stands, such as "spec.parameters". What does not fit is an *invalid.Error that names the place.
func Check(field string, schema, object json.RawMessage) error {
	compiled, err := compile(schema)
	if err != nil {
		return err
	}
	value, err := decode(object)
	if err != nil {
		return invalid.New(field, "is not JSON: %v", err)
	}
	err = compiled.Validate(value)
	if mismatch, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return describe(field, mismatch)
	}
	return err
}

// Same says whether two objects, each of which may be nil for an empty one, say the same in whatever order and with whatever
// spaces. What is not JSON is the same as nothing.
func Same(a, b json.RawMessage) bool {
	x, errX := decode(a)
	y, errY := decode(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

// decode reads an object, which may be nil for an empty one.
func decode(object json.RawMessage) (any, error) {
	if len(object) == 0 {
		return map[string]any{}, nil
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(object))
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("decode the schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", doc); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	return compiled, nil
}

// describe names the innermost place that does not fit.
func describe(field string, err *jsonschema.ValidationError) error {
	for len(err.Causes) > 0 {
		err = err.Causes[0]
	}
	path := strings.Join(append([]string{field}, err.InstanceLocation...), ".")
	return &invalid.Error{Field: path, Problem: err.ErrorKind.LocalizedString(message.NewPrinter(language.English))}
}
