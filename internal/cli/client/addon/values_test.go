package addon

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/api/rest"
)

// many is an addon with a value of each type.
func many() rest.Addon {
	return rest.Addon{Name: "many", ValuesSchema: json.RawMessage(`{
  "type": "object", "additionalProperties": false,
  "properties": {
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 2},
    "share": {"type": "number", "minimum": 0.5},
    "fast": {"type": "boolean"},
    "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
    "list": {"type": "array", "items": {"type": "string"}},
    "more": {"type": "object"}
  }
}`)}
}

func TestParseSets(t *testing.T) {
	for name, tc := range map[string]struct {
		words []string
		want  string // all values in JSON
		err   string
	}{
		"None":      {nil, `{}`, ""},
		"Types":     {[]string{"count=3", "share=1.5", "fast=true", "mode=b", `list=["x"]`}, `{"count":3,"fast":true,"list":["x"],"mode":"b","share":1.5}`, ""},
		"Text":      {[]string{"mode=3"}, `{"mode":"3"}`, ""},
		"Large":     {[]string{"count=9007199254740993"}, `{"count":9007199254740993}`, ""},
		"Removed":   {[]string{"count-"}, `{"count":null}`, ""},
		"Former":    {[]string{"former-"}, `{"former":null}`, ""},
		"Unknown":   {[]string{"cuont=3"}, "", "cuont: addon many has no such value; must be one of count, fast, list, mode, more, share"},
		"NoInteger": {[]string{"count=3.5"}, "", `count: "3.5" must be a whole number`},
		"NoNumber":  {[]string{"share=half"}, "", `share: "half" must be a number`},
		"NoBoolean": {[]string{"fast=yes"}, "", `fast: "yes" must be true or false`},
		"NoJSON":    {[]string{"more=x"}, "", `more: "x" must be JSON`},
		"NoList":    {[]string{"list=x"}, "", `list: "x" must be a list in JSON, such as ["a","b"]`},
		"Octal":     {[]string{"count=007"}, "", `count: "007" must be a whole number`},
		"Twice":     {[]string{"count=3", "count=4"}, "", `"count=4" has to be KEY=VALUE or KEY-, once for each key`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseSets(many(), tc.words)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != tc.err {
				t.Fatalf("got %q, want %q", said, tc.err)
			}
			if tc.err != "" {
				return
			}
			data, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(data)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := parseSets(rest.Addon{Name: "none", ValuesSchema: json.RawMessage(`{"type":"object"}`)}, []string{"a=b"}); err == nil || err.Error() != "a: addon none has no values" {
		t.Errorf("got %v", err)
	}
}

func TestAllowed(t *testing.T) {
	values, err := valuesOf(many())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][2]string{}
	for name, v := range values {
		got[name] = [2]string{v.byDefault(), v.allowed()}
	}
	want := map[string][2]string{"count": {"2", "1 to 9"}, "share": {"", "from 0.5 on"}, "fast": {}, "mode": {"a", "a, b"}, "list": {}, "more": {}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
