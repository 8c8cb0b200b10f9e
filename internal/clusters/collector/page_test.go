package collector

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
		want   page
		items  string
		err    string
	}{
		"Whole":     {`{"kind":"PodList","items":[{"a":1},{"a":2}],"metadata":{"resourceVersion":"7","continue":"x"},"more":{"b":[]}}`, page{"7", "x", 2}, `{"a":1} {"a":2}`, ""},
		"Null":      {`{"metadata":{"resourceVersion":"7"},"items":null}`, page{version: "7"}, "", ""},
		"None":      {`{"items":[],"metadata":{}}`, page{}, "", ""},
		"Empty":     {``, page{}, "", "read list: EOF"},
		"Cut":       {`{"metadata":{"resourceVersion":"7"},"items":[{"a":1}`, page{}, `{"a":1}`, "read list: EOF"},
		"CutAfter":  {`{"metadata":{"resourceVersion":"7"},"items":[{"a":1}]`, page{}, `{"a":1}`, "read list: EOF"},
		"Array":     {`[]`, page{}, "", "read list: the answer is not a list"},
		"NotItems":  {`{"items":{}}`, page{}, "", "read list: the answer is not a list"},
		"TooMany":   {`{"items":[1,2,3,4]}`, page{}, "1 2 3", errTooMany.Error()},
		"Refused":   {`{"items":["no"]}`, page{}, "", "refused"},
		"NotString": {`{"metadata":{"continue":7}}`, page{}, "", "read list: json: cannot unmarshal number into Go struct field .continue of type string"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var items []string
			got, err := readPage(strings.NewReader(c.answer), 3, func(item []byte) error {
				if string(item) == `"no"` {
					return refused
				}
				items = append(items, string(item))
				return nil
			})
			said := ""
			if err != nil {
				got, said = page{}, err.Error()
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

// FuzzObjects: whatever an API server sends as an object is taken apart or refused.
func FuzzObjects(f *testing.F) {
	f.Add(`{"metadata":{"name":"a","uid":"u"},"spec":{"containers":[{"name":"c","image":"a:b@c"}]},"status":{"conditions":[{"type":"Ready"}]}}`)
	f.Add(`{"metadata":{"uid":"u"},"data":{"tls.crt":"LS0tLS1CRUdJTg=="},"type":"Warning","involvedObject":{"name":"n"},"lastTimestamp":"2026-01-01T00:00:00Z"}`)
	f.Fuzz(func(t *testing.T, raw string) {
		kinds := resourceKinds(true)
		l := newLedger(kinds)
		for _, r := range kinds {
			if err := l.take(r, []byte(raw), nil); err != nil {
				continue
			}
			if err := l.remove(r, []byte(raw)); err != nil {
				t.Errorf("%s took it and did not let it go: %v", r.name, err)
			}
		}
		for kind, g := range l.kinds {
			if len(g.set) != 0 {
				t.Errorf("%d items of kind %s are left", len(g.set), kind)
			}
		}
	})
}
