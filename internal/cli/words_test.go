package cli

import (
	"bytes"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kqueen.io/kqueen/internal/cli/connection"
)

// bannedInHelp are words that users of the command line do not read, beside those that no file of the repository has
// (TestWords at the top), and what is said instead.
func bannedInHelp() map[*regexp.Regexp]string {
	out := map[*regexp.Regexp]string{}
	for pattern, instead := range map[string]string{
		`\bmak(e|es|ing) (a|an|another|one|them|no|nothing|machines|nodes|clusters)\b`: "create",
		`\bwhat makes\b`:              "name it: the provisioner, the driver, the plugin",
		`\b(is|are|be|stays?) good\b`: "valid, until it expires",
		`\bshall\b`:                   "the desired number, or the future",
		`\banew\b`:                    "again, or recreate",
		`\bfor ever\b`:                "without limit",
		`\b(whoever|somebody|nobody|everybody|people)\b`: "users, callers",
		`\b(doors?|rooms?|house|nouns?|plug)\b`:          "the API, packages, types",
		`\baction logs?\b`:                               "audit log",
		`\b(brought|bring your own)\b`:                   "self-managed, of your own",
		`\b(is over|good until)\b`:                       "expires, expired",
		`\bnext tr(y|ies)\b`:                             "next retry",
		`\b(all|everything) about (a|an)\b`:              "show details of",
		`\bsay (yes|with|--)`:                            "use, give, approve",
		`\bis no (format|version|number|file)\b`:         "is not a",
		`\b(likes? nodes|like nodes)\b`:                  "identical nodes",
		`\bof last time\b`:                               "as before",
		`\bnothing of that name\b|\bnot for you\b`:       "not found, or access denied",
		`\bthere is no way back\b`:                       "this cannot be undone",
		`\bgoes? in and do(es)? not come out\b`:          "cannot be read again",
		`\bA terminal is asked\b`:                        "you are asked",
		`\ba (organization|identityprovider|event)\b`:    "an",
		`\b1 (clusters|nodes|machines|programs)\b`:       "the singular",
	} {
		out[regexp.MustCompile("(?i)"+pattern)] = instead
	}
	return out
}

// wordsOf returns what users read of a command, by where it stands.
func wordsOf(cmd *cobra.Command) map[string]string {
	words := map[string]string{"Short": cmd.Short, "Long": cmd.Long, "Example": cmd.Example}
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { words["--"+f.Name] = f.Usage })
	return words
}

// banned returns the first banned word of a text, and what is said instead.
func banned(words map[*regexp.Regexp]string, text string) (word, instead string) {
	for pattern, instead := range words {
		if word := pattern.FindString(strings.ReplaceAll(text, "\n", " ")); word != "" {
			return word, instead
		}
	}
	return "", ""
}

// TestHelpWords: help speaks plain English with the words of the field, and every command says what it is for.
func TestHelpWords(t *testing.T) {
	root, words := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})), bannedInHelp()
	everyCommand(root, func(cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q; write a phrase without a full stop", cmd.CommandPath(), cmd.Short)
		}
		for where, text := range wordsOf(cmd) {
			if word, instead := banned(words, text); word != "" {
				t.Errorf("%s, %s: says %q; say %s", cmd.CommandPath(), where, word, instead)
			}
			for line := range strings.SplitSeq(text, "\n") {
				if where == "Long" && len([]rune(line)) > 88 && !strings.Contains(line, "The conditions are") {
					t.Errorf("%s: a line of Long has %d columns: %s", cmd.CommandPath(), len([]rune(line)), line)
				}
			}
		}
	})
}

// TestMessageWords: so do the sentences that commands print.
func TestMessageWords(t *testing.T) {
	words, files := bannedInHelp(), gotoken.NewFileSet()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for node := range ast.Preorder(file) {
			text, ok := node.(*ast.BasicLit)
			if !ok || text.Kind != gotoken.STRING || !strings.Contains(text.Value, " ") {
				continue
			}
			if word, instead := banned(words, text.Value); word != "" {
				t.Errorf("%s: says %q; say %s", files.Position(text.Pos()), word, instead)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestBanned(t *testing.T) {
	for text, want := range map[string]string{
		"Create a cluster":                  "",
		"Show all about a\ncluster":         "all about a",
		"check, but make nothing":           "make nothing",
		"what makes the cluster":            "what makes",
		"how long it is good, at most":      "is good",
		"Wait for a condition of a cluster": "",
		"Change a organization":             "a organization",
		"an organization":                   "",
	} {
		if got, _ := banned(bannedInHelp(), text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
