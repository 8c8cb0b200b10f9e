package body

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type sent struct {
	Name string          `json:"name"`
	Spec json.RawMessage `json:"spec"`
	In   struct {
		Size int64 `json:"size"`
	} `json:"in"`
}

func TestUnmarshal(t *testing.T) {
	tests := map[string]struct {
		reason string
		text   string
		want   sent
		twice  string // what stands there twice
	}{
		"Plain":          {"What is written once.", `{"name":"a"}`, sent{Name: "a"}, ""},
		"Twice":          {"The last one would be taken, and another may have been looked at.", `{"name":"a","name":"b"}`, sent{}, "name"},
		"TwiceTheSame":   {"Also when both say the same.", `{"name":"a","name":"a"}`, sent{}, "name"},
		"TwiceInside":    {"At every depth.", `{"in":{"size":1,"size":2}}`, sent{}, "in.size"},
		"TwiceByEscape":  {"However it is written.", `{"name":"a","n\u0061me":"b"}`, sent{}, "name"},
		"OtherLetters":   {"In other letters it is another key.", `{"Name":"a"}`, sent{}, ""},
		"BothLetters":    {"Which does not stand in for the right one.", `{"name":"a","NAME":"b"}`, sent{Name: "a"}, ""},
		"OtherLettersIn": {"At every depth.", `{"in":{"SIZE":1}}`, sent{}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got sent
			err := Unmarshal([]byte(tc.text), &got)
			twice, _ := errors.AsType[*DuplicateError](err)
			if tc.twice != "" {
				if twice == nil || twice.Field != tc.twice {
					t.Fatalf("%s\nwant that %s stands there twice, got %v", tc.reason, tc.twice, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	for text, taken := range map[string]bool{
		`{"a":{"b":1},"c":[{"b":1},{"b":2}]}`: true,
		`{"a":1,"A":2}`:                       true,
		`{"a":{"b":1,"b":1}}`:                 false,
		`[{"a":1},{"a":1,"a":2}]`:             false,
		`{"a":1`:                              false,
		`{"a":1}{}`:                           false,
		``:                                    false,
	} {
		if err := Check([]byte(text)); (err == nil) != taken {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestNumbersStayWhatTheyWere: validations compare numbers as encoding/json reads them.
func TestNumbersStayWhatTheyWere(t *testing.T) {
	const text = `{"a":1,"b":1.5}`
	var got, want any
	if err := errors.Join(Unmarshal([]byte(text), &got), json.Unmarshal([]byte(text), &want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
