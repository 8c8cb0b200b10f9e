package cli

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"kqueen.io/kqueen/internal/cli/connection"
)

// TestNoFlagTakesASecret: every user of a machine sees the arguments of commands. A secret comes by a file, by standard input or
// from a terminal; a flag that takes one as its value is refused.
func TestNoFlagTakesASecret(t *testing.T) {
	secret := regexp.MustCompile(`token|password|secret|credential|(^|-)key`)
	root := newRoot(connection.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}))
	seen, refused := 0, 0
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !secret.MatchString(f.Name) {
				return
			}
			seen++
			switch {
			case f.Hidden:
				refused++
				if err := cmd.Flags().Set(f.Name, "s3cret"); err != nil {
					t.Fatal(err)
				}
				err := cmd.RunE(cmd, nil)
				if err == nil || !strings.Contains(err.Error(), "every user of this machine can see the arguments") || strings.Contains(err.Error(), "s3cret") {
					t.Errorf("%s --%s: want it refused without a word of the secret, got %v", cmd.CommandPath(), f.Name, err)
				}
			case f.Value.Type() != "bool" && !strings.HasSuffix(f.Name, "-file"):
				t.Errorf("%s --%s takes a secret as an argument; take a file, - for standard input, or ask", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if seen < 8 || refused < 4 {
		t.Errorf("only %d flags were looked at, of which %d are refused", seen, refused)
	}
}
