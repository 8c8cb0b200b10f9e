package listing

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadPage(t *testing.T) {
	refused := errors.New("refused")
	cases := map[string]struct {
		answer string
		want   Page
		items  string
		err    string
	}{
		"Whole":     {`{"kind":"PodList","items":[{"a":1},{"a":2}],"metadata":{"resourceVersion":"7","continue":"x"},"more":{"b":[]}}`, Page{"7", "x", 2}, `{"a":1} {"a":2}`, ""},
		"Null":      {`{"metadata":{"resourceVersion":"7"},"items":null}`, Page{Version: "7"}, "", ""},
		"None":      {`{"items":[],"metadata":{}}`, Page{}, "", ""},
		"Empty":     {``, Page{}, "", "read list: EOF"},
		"Cut":       {`{"metadata":{"resourceVersion":"7"},"items":[{"a":1}`, Page{}, `{"a":1}`, "read list: EOF"},
		"CutAfter":  {`{"metadata":{"resourceVersion":"7"},"items":[{"a":1}]`, Page{}, `{"a":1}`, "read list: EOF"},
		"Array":     {`[]`, Page{}, "", "read list: the answer is not a list"},
		"NotItems":  {`{"items":{}}`, Page{}, "", "read list: the answer is not a list"},
		"TooMany":   {`{"items":[1,2,3,4]}`, Page{}, "1 2 3", ErrTooMany.Error()},
		"Refused":   {`{"items":["no"]}`, Page{}, "", "refused"},
		"NotString": {`{"metadata":{"continue":7}}`, Page{}, "", "read list: json: cannot unmarshal number into Go struct field .continue of type string"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var items []string
			got, err := ReadPage(strings.NewReader(c.answer), 3, func(item []byte) error {
				if string(item) == `"no"` {
					return refused
				}
				items = append(items, string(item))
				return nil
			})
			said := ""
			if err != nil {
				got, said = Page{}, err.Error()
			}
			if diff := cmp.Diff([]string{c.items, c.err}, []string{strings.Join(items, " "), said}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
