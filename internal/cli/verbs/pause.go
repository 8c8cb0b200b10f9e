package verbs

import (
	"fmt"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// PauseCommand returns `pause` of a kind whose spec has the field paused. Example is the name of an object.
func PauseCommand(e *connection.Env, n *kinds.Kind, short, example string) *cobra.Command {
	return pauseCommand(e, n, "pause", short, example, "is paused")
}

// ResumeCommand returns `resume`, which takes `pause` back.
func ResumeCommand(e *connection.Env, n *kinds.Kind, short, example string) *cobra.Command {
	return pauseCommand(e, n, "resume", short, example, "goes on")
}

func pauseCommand(e *connection.Env, n *kinds.Kind, verb, short, example, did string) *cobra.Command {
	return &cobra.Command{
		Use:               verb + " NAME",
		Short:             short,
		Example:           "  kqueen " + n.Singular + " " + verb + " " + example,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, n, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Connect()
			if err != nil {
				return err
			}
			object, err := kinds.Find(cmd.Context(), e, c, n, args[0])
			if err != nil {
				return err
			}
			if err := c.Update(cmd.Context(), object, objects.Patch{Spec: map[string]any{"paused": verb == "pause"}}, "", false); err != nil {
				return fmt.Errorf("%s %s %s: %w", verb, n.Singular, args[0], err)
			}
			e.Say("%s %s %s", n.Singular, args[0], did)
			return nil
		},
	}
}
