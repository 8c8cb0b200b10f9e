package console

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretFromFile: a secret is the first line of a file or of standard input, of which the rest is left, and no more of it is
// read than a secret may have.
func TestSecretFromFile(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct {
		reason      string
		from, typed string
		want, left  string
		says        string // when there is no secret
	}{
		"File":       {"The line, without blanks around it.", file("token", " s3cret\n"), "", "s3cret", "", ""},
		"NoLineEnd":  {"As printf writes it.", file("bare", "s3cret"), "", "s3cret", "", ""},
		"Stdin":      {"What follows is for the next question.", "-", "s3cret\npassword\n", "s3cret", "password\n", ""},
		"EmptyFile":  {"A file with nothing in it.", file("empty", ""), "", "", "", "there is none on the first line of " + filepath.Join(dir, "empty")},
		"EmptyLine":  {"Or with nothing on its first line.", file("late", "\ns3cret\n"), "", "", "", "there is none on the first line"},
		"EmptyStdin": {"Nothing was piped in.", "-", "", "", "", "there is none on the first line of standard input"},
		"Missing":    {"A file that is not there.", filepath.Join(dir, "none"), "", "", "", "read the thing: open "},
		"TooLong":    {"Something else was piped in.", "-", strings.Repeat("x", 2*maxTyped), "", strings.Repeat("x", maxTyped), "it is longer than"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			in := strings.NewReader(tc.typed)
			got, err := (&Console{Stdin: in, Stderr: io.Discard}).SecretFromFile(t.Context(), tc.from, "thing", "Thing: ")
			if tc.says == "" && err != nil || got != tc.want {
				t.Errorf("%s\ngot %q, %v", tc.reason, got, err)
			}
			if tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), "s3cret")) {
				t.Errorf("%s\nwant %q, got %v", tc.reason, tc.says, err)
			}
			if left, err := io.ReadAll(in); err != nil || string(left) != tc.left {
				t.Errorf("%s\n%d bytes are left, want %d: %v", tc.reason, len(left), len(tc.left), err)
			}
		})
	}
}
