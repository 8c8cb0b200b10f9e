package addon

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/verbs"
	"kqueen.io/kqueen/internal/platform/schema"
)

// value is what the schema of an addon says of one of its values, as far as users are told.
type value struct {
	Type        string       `json:"type"`
	Description string       `json:"description"`
	Default     any          `json:"default"`
	Enum        []any        `json:"enum"`
	Minimum     *json.Number `json:"minimum"`
	Maximum     *json.Number `json:"maximum"`
}

// valuesOf are the values of an addon by their names.
func valuesOf(a rest.Addon) (map[string]value, error) {
	var s struct {
		Properties map[string]value `json:"properties"`
	}
	if err := json.Unmarshal(a.ValuesSchema, &s); err != nil {
		return nil, fmt.Errorf("read the schema of addon %s: %w", a.Name, err)
	}
	return s.Properties, nil
}

func sorted(values map[string]value) []string { return slices.Sorted(maps.Keys(values)) }

// byDefault is the value that there is without a setting, or nothing.
func (v value) byDefault() string {
	if v.Default == nil {
		return ""
	}
	return inWords(v.Default)
}

// allowed says which values there can be, or nothing where the type says it all.
func (v value) allowed() string {
	var words []string
	for _, one := range v.Enum {
		words = append(words, inWords(one))
	}
	switch {
	case len(words) > 0:
		return strings.Join(words, ", ")
	case v.Minimum != nil && v.Maximum != nil:
		return v.Minimum.String() + " to " + v.Maximum.String()
	case v.Minimum != nil:
		return "from " + v.Minimum.String() + " on"
	case v.Maximum != nil:
		return "up to " + v.Maximum.String()
	}
	return ""
}

// inWords is a value of JSON as users read it and write it behind --set.
func inWords(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// parseSets reads KEY=VALUE, which sets a value of the addon by the type that the schema has for it, and KEY-, which makes it what
// it is without a setting of the cluster: nil.
func parseSets(a rest.Addon, words []string) (map[string]any, error) {
	known, err := valuesOf(a)
	if err != nil {
		return nil, err
	}
	changes, err := verbs.ParseChanges(words)
	if err != nil {
		return nil, err
	}
	for key, text := range changes {
		if text == nil {
			continue
		}
		v, ok := known[key]
		if !ok {
			return nil, unknownValue(a.Name, key, sorted(known))
		}
		if changes[key], err = v.parse(text.(string)); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	return changes, nil
}

func unknownValue(addon, key string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("%s: addon %s has no values", key, addon)
	}
	return fmt.Errorf("%s: addon %s has no such value; must be one of %s", key, addon, strings.Join(known, ", "))
}

// parse reads a text as the type of the value: a text as it is, anything else as JSON has it. How large it may be and the like
// is left to the whole schema.
func (v value) parse(text string) (any, error) {
	if v.Type == "string" {
		return text, nil
	}
	var read any
	err := json.Unmarshal([]byte(text), &read)
	ok := err == nil
	want := "JSON"
	switch v.Type {
	case "boolean":
		_, ok = read.(bool)
		want = "true or false"
	case "integer":
		_, wrong := strconv.ParseInt(text, 10, 64)
		ok, want = ok && wrong == nil, "a whole number"
	case "number":
		_, ok = read.(float64)
		want = "a number"
	case "array":
		_, ok = read.([]any)
		want = `a list in JSON, such as ["a","b"]`
	}
	if !ok {
		return nil, fmt.Errorf("%q must be %s", text, want)
	}
	return json.RawMessage(text), nil
}

// checkValues says what is wrong with all values that a cluster sets, after a change.
func checkValues(a rest.Addon, values json.RawMessage) error {
	return schema.Check("values", a.ValuesSchema, values)
}
