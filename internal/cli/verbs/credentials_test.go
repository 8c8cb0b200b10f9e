package verbs

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// TestReadCredentials: what is piped in is keys and texts, or a mistake that repeats nothing of it.
func TestReadCredentials(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want map[string]string
	}{
		"YAML":         {"token: s3cret\nuser: a b\n", map[string]string{"token": "s3cret", "user": "a b"}},
		"JSON":         {`{"token":"s3cret"}`, map[string]string{"token": "s3cret"}},
		"lines":        {"key: |\n  s3cret\n  more\n", map[string]string{"key": "s3cret\nmore\n"}},
		"nothing":      {"", nil},
		"blank":        {" \n", nil},
		"no object":    {"s3cret", nil},
		"a list":       {"- s3cret", nil},
		"empty":        {"{}", nil},
		"a number":     {"token: 5", map[string]string{"token": "5"}},
		"an object":    {"token: {s3cret: a}", nil},
		"twice":        {"token: s3cret\ntoken: other", nil},
		"torn":         {`{"token": "s3cret`, nil},
		"far too long": {"token: " + strings.Repeat("s3cret", maxCredentials/6+1), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readCredentials(strings.NewReader(c.text))
			if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.want != nil) {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("the error repeats what was read: %v", err)
			}
		})
	}
	broken := errors.New("the pipe is broken")
	if _, err := readCredentials(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}
