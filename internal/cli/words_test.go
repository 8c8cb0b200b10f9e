package cli

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
)

// TestHelpForm: every command says in a phrase what it is for, and help fits into a terminal. Which words it has not, TestWords
// of the module says.
func TestHelpForm(t *testing.T) {
	root := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	everyCommand(root, func(cmd *cobra.Command) {
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short is %q; write a phrase without a full stop", cmd.CommandPath(), cmd.Short)
		}
		for line := range strings.SplitSeq(cmd.Long, "\n") {
			if utf8.RuneCountInString(line) > 88 && !strings.Contains(line, "The conditions are") {
				t.Errorf("%s: a line of Long has %d columns: %s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
	})
}
