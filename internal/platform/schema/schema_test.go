package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/platform/schema"
)

const regional = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "additionalProperties": false,
  "required": ["region"],
  "properties": {
    "region": {"type": "string", "enum": ["north", "south"]},
    "size": {"type": "integer", "minimum": 1, "maximum": 9},
    "pool": {"type": "object", "properties": {"labels": {"type": "array", "items": {"type": "string", "minLength": 2}}}}
  }
}`

func TestCheck(t *testing.T) {
	tests := map[string]struct {
		reason     string
		parameters string
		field      string // of the error; empty when the parameters are taken
		problem    string // part of it
	}{
		"Good":         {"What fits is taken.", `{"region":"north","size":9}`, "", ""},
		"WholeFloat":   {"3.0 is an integer in JSON Schema.", `{"region":"north","size":3.0}`, "", ""},
		"None":         {"No parameters are an empty object, not null.", ``, "spec.parameters", "region"},
		"Missing":      {"What is required is named.", `{"size":3}`, "spec.parameters", "region"},
		"Unknown":      {"A typing error is named.", `{"region":"north","regoin":"x"}`, "spec.parameters", "regoin"},
		"WrongType":    {"The field and the right type are named.", `{"region":"north","size":"3"}`, "spec.parameters.size", "integer"},
		"NotInEnum":    {"The right values are named.", `{"region":"west"}`, "spec.parameters.region", "'north', 'south'"},
		"TooLarge":     {"The limit is named.", `{"region":"north","size":10}`, "spec.parameters.size", "9"},
		"Nested":       {"The innermost place is named.", `{"region":"north","pool":{"labels":["ok","x"]}}`, "spec.parameters.pool.labels.1", "2"},
		"Null":         {"null is no object.", `null`, "spec.parameters", "object"},
		"Array":        {"An array is no object.", `[]`, "spec.parameters", "object"},
		"NotJSON":      {"Text that is not JSON is said to be so.", `{"region":`, "spec.parameters", "is not JSON"},
		"TwoDocuments": {"What follows the object is not overlooked.", `{"region":"north"} {}`, "spec.parameters", "is not JSON"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := schema.Check("spec.parameters", json.RawMessage(regional), json.RawMessage(tc.parameters))
			if tc.field == "" {
				if err != nil {
					t.Errorf("%s\ngot %v", tc.reason, err)
				}
				return
			}
			var refused *invalid.Error
			if !errors.As(err, &refused) || refused.Field != tc.field || !strings.Contains(refused.Problem, tc.problem) {
				t.Errorf("%s\nwant %s: …%s…\ngot %v", tc.reason, tc.field, tc.problem, err)
			}
		})
	}
}

func TestSame(t *testing.T) {
	tests := map[string]struct {
		a, b string
		want bool
	}{
		"Order":   {`{"a":1,"b":[true]}`, ` {"b": [true], "a": 1}`, true},
		"None":    {``, `{}`, true},
		"Null":    {`null`, `{}`, false},
		"Value":   {`{"a":1}`, `{"a":2}`, false},
		"Type":    {`{"a":1}`, `{"a":"1"}`, false},
		"Less":    {`{"a":1}`, ``, false},
		"NotJSON": {`{`, `{`, false},
	}
	for name, tc := range tests {
		if got := schema.Same(json.RawMessage(tc.a), json.RawMessage(tc.b)); got != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestCheckByBrokenSchema: a fault of the schema must not be taken for the user's.
func TestCheckByBrokenSchema(t *testing.T) {
	for name, broken := range map[string]string{
		"Empty": ``, "NotJSON": `{`, "BadKeyword": `{"type":3}`, "BadPattern": `{"properties":{"a":{"pattern":"("}}}`,
		"FileReference": `{"$ref":"file:///etc/hostname"}`, "WebReference": `{"$ref":"https://example.com/schema.json"}`,
	} {
		t.Run(name, func(t *testing.T) {
			err := schema.Check("spec.parameters", json.RawMessage(broken), json.RawMessage(`{"a":"b"}`))
			var refused *invalid.Error
			if err == nil || errors.As(err, &refused) {
				t.Errorf("want the schema to be blamed, got %v", err)
			}
		})
	}
}

func FuzzCheck(f *testing.F) {
	for _, seed := range []string{``, `{}`, `{"region":"north"}`, `{"pool":{"labels":[""]}}`, `[1e999]`, "\x00", `{"a":{"a":{"a":{}}}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, parameters []byte) {
		err := schema.Check("spec.parameters", json.RawMessage(regional), parameters)
		var refused *invalid.Error
		if err != nil && !errors.As(err, &refused) {
			t.Fatalf("bad input must be an *invalid.Error, got %T: %v", err, err)
		}
		if err != nil && (!strings.HasPrefix(refused.Field, "spec.parameters") || refused.Problem == "") {
			t.Fatalf("the error must name field and problem: %+v", refused)
		}
		if err == nil && !json.Valid(parameters) {
			t.Fatal("what is not JSON was taken")
		}
	})
}
