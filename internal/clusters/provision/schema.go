package provision

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"kqueen.io/kqueen/internal/platform/invalid"
)

// CheckParameters checks parameters, which may be nil, against a driver's JSON Schema. field is where
// they stand, such as "spec.parameters". What does not fit is an *invalid.Error that names the place.
func CheckParameters(field string, schema, parameters json.RawMessage) error {
	if len(parameters) == 0 {
		parameters = json.RawMessage("{}")
	}
	compiled, err := compile(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(parameters))
	if err != nil {
		return invalid.New(field, "is not JSON: %v", err)
	}
	err = compiled.Validate(value)
	if mismatch, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return describe(field, mismatch)
	}
	return err
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("decode the driver's schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("schema.json", doc); err != nil {
		return nil, fmt.Errorf("read the driver's schema: %w", err)
	}
	compiled, err := compiler.Compile("schema.json")
	if err != nil {
		return nil, fmt.Errorf("compile the driver's schema: %w", err)
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
