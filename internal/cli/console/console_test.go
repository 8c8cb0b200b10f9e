package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestConfirm(t *testing.T) {
	cases := map[string]struct {
		answer string
		want   bool
	}{
		"yes": {"y\n", true}, "in full": {" YES \n", true}, "no": {"n\n", false}, "nothing": {"\n", false},
		"another word": {"yellow\n", false}, "end of input": {"", false}, "yes without a line end": {"y", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := confirm(t.Context(), strings.NewReader(c.answer), &out, "Delete clusters a, b and c and all their data?")
			if err != nil {
				t.Fatal(err)
			}
			if got != c.want {
				t.Errorf("answer %q means %t, want %t", c.answer, got, c.want)
			}
			if want := "Delete clusters a, b and c and all their data? [y/N] "; out.String() != want {
				t.Errorf("asked %q, want %q", out.String(), want)
			}
		})
	}
}

// TestConfirmInterrupted wants the question to end although no answer comes.
func TestConfirmInterrupted(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if yes, err := confirm(ctx, in, io.Discard, "Delete?"); yes || !errors.Is(err, context.Canceled) {
		t.Errorf("got %t, %v, want no and that it was interrupted", yes, err)
	}
}

func TestShellQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/var/lib/kqueen": "/var/lib/kqueen", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$(x)": "'$(x)'", "ä": "'ä'",
	} {
		if got := ShellQuote(word); got != want {
			t.Errorf("%q becomes %s, want %s", word, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		"plain ✓": "plain ✓", "a\x1b[31mb\x07": "a[31mb", "a\tb\nc": "a b\nc", "\u202edrow": "drow", "\u009b2J": "2J",
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
