package console

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"kqueen.io/kqueen/internal/cli/exit"
)

// TestReadLine: a line is taken, and nothing of what is for the next question.
func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", maxTyped)
	cases := map[string]struct {
		in   string
		want []string
		end  string // of the last one, which is an error
	}{
		"two lines":             {"a b \nc\n", []string{"a b ", "c"}, "EOF"},
		"of Windows":            {"a\r\nb\r\n", []string{"a", "b"}, "EOF"},
		"without a line end":    {"a\nb", []string{"a", "b"}, "EOF"},
		"an empty one":          {"\nb\n", []string{"", "b"}, "EOF"},
		"nothing":               {"", nil, "EOF"},
		"as long as may be":     {long[1:] + "\n", []string{long[1:]}, "EOF"},
		"longer than that":      {long + "\n", nil, "it is longer than 4096 bytes"},
		"letters of many bytes": {"zoë\n", []string{"zoë"}, "EOF"},
	}
	for name, c := range cases {
		for way, reader := range map[string]io.Reader{"at once": strings.NewReader(c.in), "with its end": iotest.DataErrReader(strings.NewReader(c.in))} {
			t.Run(name+" "+way, func(t *testing.T) {
				var got []string
				for {
					line, err := ReadLine(reader)
					if err != nil {
						if err.Error() != c.end {
							t.Errorf("it ends with %v, want %s", err, c.end)
						}
						break
					}
					got = append(got, line)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestSecretFromStdin: a secret is what was piped in, to the letter, but for one line end; what cannot be one is a mistake of
// the command line, and is not repeated.
func TestSecretFromStdin(t *testing.T) {
	cases := map[string]struct{ in, want, problem string }{
		"a line":            {"correct horse\n", "correct horse", ""},
		"without its end":   {"correct horse", "correct horse", ""},
		"of Windows":        {"s3cret\r\n", "s3cret", ""},
		"with blanks":       {" s3cret \n", " s3cret ", ""},
		"nothing":           {"", "", "read the token: standard input is empty"},
		"a line end":        {"\r\n", "", "read the token: standard input is empty"},
		"two lines":         {"s3cret\nother\n", "", "read the token: standard input has more than one line"},
		"an empty line too": {"s3cret\n\n", "", "read the token: standard input has more than one line"},
		"too long":          {strings.Repeat("s3cret", 1000), "", "read the token: it is longer than 4096 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := (&Console{Stdin: strings.NewReader(c.in)}).SecretFromStdin("token")
			text := ""
			if err != nil {
				text = err.Error()
			}
			if got != c.want || text != c.problem || err != nil && exit.CodeOf(err) != exit.Usage {
				t.Errorf("got %q, %v, want %q, %s", got, err, c.want, c.problem)
			}
		})
	}
	broken := errors.New("the pipe is broken")
	if _, err := (&Console{Stdin: iotest.ErrReader(broken)}).SecretFromStdin("token"); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

// TestPromptsNeedATerminal: what is asked on a terminal is not read from a pipe, which may hold something else.
func TestPromptsNeedATerminal(t *testing.T) {
	var out bytes.Buffer
	c := &Console{Stdin: strings.NewReader("yes\nyes\n"), Stderr: &out}
	for name, ask := range map[string]func() (string, error){
		"line":         func() (string, error) { return c.Prompt(t.Context(), "Name: ") },
		"secret":       func() (string, error) { return c.PromptSecret(t.Context(), "Password: ") },
		"new password": func() (string, error) { return c.PromptNewPassword(t.Context()) },
	} {
		if got, err := ask(); got != "" || exit.CodeOf(err) != exit.Usage || out.Len() > 0 {
			t.Errorf("%s: got %q, %v, printed %q", name, got, err, out.String())
		}
	}
}

// TestUnlessDone: a user who interrupts is not held up by a read that never ends.
func TestUnlessDone(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := unlessDone(ctx, func() (string, error) { return ReadLine(in) }); got != "" || !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v, want that it was interrupted", got, err)
	}
}

// TestPrintNamed prints data for programs, names for shells and a table for users, in which nothing moves the cursor.
func TestPrintNamed(t *testing.T) {
	rows := [][]string{{"NAME", "ROLE"}, {"alice", ""}, {"bob\x1b[2J", "a\nb"}}
	data := []map[string]string{{"name": "alice"}}
	for format, want := range map[string]string{
		"":      "NAME     ROLE\nalice    -\nbob[2J   a b\n",
		"table": "NAME     ROLE\nalice    -\nbob[2J   a b\n",
		"name":  "user/alice\nuser/bob[2J\n",
		"json":  "[\n  {\n    \"name\": \"alice\"\n  }\n]\n",
		"yaml":  "- name: alice\n",
	} {
		var out bytes.Buffer
		err := (&Console{Stdout: &out}).PrintNamed(format, "user", data, rows)
		if diff := cmp.Diff(want, out.String()); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", format, err, diff)
		}
	}
	var out bytes.Buffer
	c := &Console{Stdout: &out}
	if err := c.PrintNamed("wide", "user", data, rows); exit.CodeOf(err) != exit.Usage || out.Len() > 0 {
		t.Errorf("got %v and %q, want that there is no such format", err, out.String())
	}
	if err := c.PrintData("table", nil, rows[:1]); err != nil || out.Len() > 0 {
		t.Errorf("a table of nothing is %q, %v", out.String(), err)
	}
}
