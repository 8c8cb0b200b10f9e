package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completionDeadline bounds what a user waits after pressing tab.
const completionDeadline = 2 * time.Second

// noArguments refuses arguments.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(cmd, "%s takes no argument, but there is %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// names wants between least and most names; most may be -1 for any number.
func names(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return usageError(cmd, "%s needs a NAME", cmd.CommandPath())
		}
		if most >= 0 && len(args) > most {
			return usageError(cmd, "%s takes one NAME, but there is also %q", cmd.CommandPath(), args[most])
		}
		if slices.Contains(args, "") {
			return usageError(cmd, "a NAME is empty")
		}
		return nil
	}
}

// completeNames completes names of a noun's objects, at most so many (-1 for any number).
func (e *env) completeNames(n *noun, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found := slices.DeleteFunc(e.namesOf(cmd, n, begun, nil), func(name string) bool { return slices.Contains(args, name) })
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// namesOf returns the names of a noun's objects that begin so; keep, when set, leaves some out. A completion cannot show errors: without an
// answer in time there is none.
func (e *env) namesOf(cmd *cobra.Command, n *noun, begun string, keep func(client.Object) bool) []string {
	ctx, cancel := context.WithTimeout(cmd.Context(), completionDeadline)
	defer cancel()
	c, err := e.connect()
	if err != nil {
		return nil
	}
	var found []string
	for _, namespace := range e.namespaces(n, false) {
		objects, err := fetch(ctx, c, source{noun: n, namespace: namespace, keep: keep})
		if err != nil {
			continue
		}
		for _, object := range objects {
			if strings.HasPrefix(object.GetName(), begun) {
				found = append(found, object.GetName())
			}
		}
	}
	return found
}

// oneOf completes one of a few words.
func oneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// noCompletion is for words that nobody can guess.
func noCompletion(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}
