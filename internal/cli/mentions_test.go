//go:build linux

package cli

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/test/pages"
)

// TestMentions: the commands and flags that the documentation mentions exist, also in blocks that no test runs. What was
// decided or changed once stays as it was said then.
func TestMentions(t *testing.T) {
	all, err := pages.Read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	root := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	root.InitDefaultCompletionCmd()
	seen := 0
	for _, page := range slices.Sorted(maps.Keys(all)) {
		if page == "CHANGELOG.md" || strings.HasPrefix(page, "docs/development/adr/") {
			continue
		}
		for _, mention := range mentions(all[page]) {
			seen++
			if wrong := unknown(root, mention); wrong != "" {
				t.Errorf("%s says %q: %s", page, mention, wrong)
			}
		}
	}
	if seen < 200 {
		t.Errorf("only %d mentions of commands were found", seen)
	}
}

var (
	codeOfPage = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	called     = regexp.MustCompile(`(?m)(?:^|[|(=$]|&&|exec) *(?:bin/)?kqueen ([^|;#()<>&\n]*)`)
)

// mentions are the arguments of kqueen in the code of a page, each up to what the shell or a reader takes for something else.
func mentions(page string) []string {
	var all []string
	for _, text := range codeOfPage.FindAllString(strings.ReplaceAll(page, "\\\n", " "), -1) {
		for _, found := range called.FindAllStringSubmatch(strings.Trim(text, "`"), -1) {
			all = append(all, strings.TrimSpace(found[1]))
		}
	}
	return all
}

// unknown says which word of a mention is neither a command nor a flag.
func unknown(root *cobra.Command, mention string) string {
	words := strings.Fields(mention)
	cmd := root
	for len(words) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(words[0], "-") {
		next, _, err := cmd.Find(words[:1])
		if err != nil || next == cmd {
			break
		}
		cmd, words = next, words[1:]
	}
	if cmd.HasSubCommands() && len(words) > 0 && regexp.MustCompile(`^[a-z]`).MatchString(words[0]) {
		return fmt.Sprintf("%q is no command", words[0])
	}
	for _, word := range words {
		name, long := strings.CutPrefix(strings.TrimRight(word, ",.:'\"`"), "--")
		name, _, _ = strings.Cut(name, "=")
		var flag *pflag.Flag
		switch {
		case long && name != "" && name != "help" && name != "version":
			flag = cmd.Flag(name)
		case !long && len(word) == 2 && word[0] == '-' && word[1] != '-' && cmd.Flags().ShorthandLookup("h") == nil:
			_ = cmd.InheritedFlags() // merges them
			flag = cmd.Flags().ShorthandLookup(word[1:])
		default:
			continue
		}
		if flag == nil {
			return fmt.Sprintf("%q is no flag of %s", word, cmd.CommandPath())
		}
	}
	return ""
}

func TestUnknown(t *testing.T) {
	root := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	cases := map[string]string{
		"cluster create demo --wait -o json": "",
		"--version":                          "",
		"cluster":                            "",
		"COMMAND --help":                     "",
		"--org payments cluster list":        "",
		"cluster make demo":                  `"make" is no command`,
		"clutser list":                       `"clutser" is no command`,
		"cluster create demo --wiat":         `"--wiat" is no flag of kqueen cluster create`,
		"cluster create -x":                  `"-x" is no flag of kqueen cluster create`,
	}
	for mention, want := range cases {
		if diff := cmp.Diff(want, unknown(root, mention)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mention, diff)
		}
	}
	page := "`kqueen up`, `the kqueen` and\n```sh\na=$(kqueen status -o json | jq) # kqueen x\nKQ=1 true && kqueen down\nkqueen login \\\n  --device\n```\n"
	want := []string{"up", "status -o json", "down", "login    --device"}
	if diff := cmp.Diff(want, mentions(page)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
