package kinds

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
)

// CompleteNames completes names of a kind's objects, at most so many (-1 for any number).
func CompleteNames(e *connection.Env, n *Kind, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := slices.DeleteFunc(NamesOf(cmd, e, n, begun, nil), func(name string) bool { return slices.Contains(args, name) })
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// NamesOf returns the names of a kind's objects that begin so; keep, when set, leaves some out. A completion cannot show
// errors: without an answer in time there is none.
func NamesOf(cmd *cobra.Command, e *connection.Env, n *Kind, begun string, keep func(client.Object) bool) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), command.CompletionDeadline)
	defer cancel()
	c, err := e.Connect()
	if err != nil {
		return nil
	}
	var found []string
	for _, s := range Sources(e, n, false) {
		s.Keep = keep
		some, err := Fetch(ctx, c, s)
		if err != nil {
			continue
		}
		for _, object := range some {
			if strings.HasPrefix(object.GetName(), begun) {
				found = append(found, object.GetName())
			}
		}
	}
	return found
}
