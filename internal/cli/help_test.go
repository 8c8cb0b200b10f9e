package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
)

// TestMistakes: what is misspelled fails, and what may have been meant is said.
func TestMistakes(t *testing.T) {
	for line, want := range map[string]string{
		"clutser list":            `error: unknown command "clutser", did you mean "cluster"?`,
		"cluster lsit":            `error: unknown command "lsit", did you mean "list"?`,
		"cluster list --selektor": `error: unknown flag: --selektor, did you mean "--selector"?`,
		"cluster list --contxt a": `error: unknown flag: --contxt, did you mean "--context"?`,
		"cluster list --qqq":      "error: unknown flag: --qqq\n",
		"help nothing":            "error: unknown help topic \"nothing\"\n",
		"help clsuter":            `error: unknown help topic "clsuter", did you mean "cluster"?`,
		"help cluster crate":      `error: unknown help topic "cluster crate", did you mean "cluster create"?`,
	} {
		var words bytes.Buffer
		code := run(connection.New(strings.NewReader(""), &bytes.Buffer{}, &words), append([]string{"kqueen"}, strings.Fields(line)...))
		if code != exit.Usage || !strings.HasPrefix(words.String(), want) {
			t.Errorf("kqueen %s: exit code %d, said %s, want %s", line, code, words.String(), want)
		}
	}
	for line, want := range map[string]string{
		"help": "Clusters:\n", "help exit-codes": "The exit codes of kqueen are:", "help cluster create": "kqueen cluster create [NAME] [flags]", "__complete help cluster cre": "create\tCreate a cluster",
	} {
		var out, words bytes.Buffer
		code := run(connection.New(strings.NewReader(""), &out, &words), append([]string{"kqueen"}, strings.Fields(line)...))
		if code != exit.OK || !strings.Contains(out.String(), want) {
			t.Errorf("kqueen %s: exit code %d, printed %s%s, want %s", line, code, out.String(), words.String(), want)
		}
	}
}

// TestGroups: every command that help shows is in a group, and every group has some.
func TestGroups(t *testing.T) {
	root := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	used := map[string]bool{}
	for _, cmd := range root.Commands() {
		used[cmd.GroupID] = true
		if cmd.IsAvailableCommand() && !root.ContainsGroup(cmd.GroupID) {
			t.Errorf("%s is in no group", cmd.Name())
		}
	}
	for _, group := range root.Groups() {
		if !used[group.ID] && group.ID != groupOther {
			t.Errorf("the group %s is empty", group.ID)
		}
	}
}

// everyCommand calls look with each command that users see.
func everyCommand(root *cobra.Command, look func(*cobra.Command)) {
	look(root)
	for _, cmd := range root.Commands() {
		everyCommand(cmd, look)
	}
}
