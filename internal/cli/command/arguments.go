package command

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/exit"
)

// CompletionDeadline bounds what a user waits after pressing tab.
const CompletionDeadline = 2 * time.Second

// NoArguments refuses arguments.
func NoArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.UsageError(cmd, "%s takes no argument, but there is %q", cmd.CommandPath(), args[0])
	}
	return nil
}

// Names wants between least and most names; most may be -1 for any number.
func Names(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < least {
			return exit.UsageError(cmd, "%s needs a NAME", cmd.CommandPath())
		}
		if most >= 0 && len(args) > most {
			return exit.UsageError(cmd, "%s takes one NAME, but there is also %q", cmd.CommandPath(), args[most])
		}
		if slices.Contains(args, "") {
			return exit.UsageError(cmd, "a NAME is empty")
		}
		return nil
	}
}

// OneOf completes one of a few words.
func OneOf(words ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
}

// InAnyCase returns that one of the words which is said in whatever case; what is none of them stays as it is.
func InAnyCase(said string, words ...string) string {
	for _, word := range words {
		if strings.EqualFold(word, said) {
			return word
		}
	}
	return said
}

// NoCompletion is for words that a shell cannot guess.
func NoCompletion(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// AtMostOne takes one argument or none.
func AtMostOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 1 {
			return exit.UsageError(cmd, "%s takes one %s, but there is also %q", cmd.CommandPath(), what, args[1])
		}
		return nil
	}
}

// RegisterOutput adds the flag -o with the completion of its values.
func RegisterOutput(cmd *cobra.Command, format *string, initial string, formats []string) {
	usage := "format: " + strings.Join(formats, ", ")
	cmd.Flags().StringVarP(format, "output", "o", initial, usage)
	complete := func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		directive := cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(formats, func(f string) bool { return strings.HasSuffix(f, "=") }) {
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return formats, directive
	}
	// The only error is a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", complete)
}
