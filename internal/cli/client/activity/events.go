package activity

import (
	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// NewEventCommand returns `event` and what is under it.
func NewEventCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "event",
		Aliases: []string{"events"},
		Short:   "List the events of an organization",
		Example: "  kqueen event list --kind NodePool",
	}
	command.Group(cmd)
	cmd.AddCommand(newListEventsCommand(e))
	return cmd
}

func newListEventsCommand(e *connection.Env) *cobra.Command {
	l := &verbs.Listing{Env: e, Kind: kinds.Event, Sort: kinds.OldestFirst}
	var kind, name, sort string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "Show the events of the organization's objects",
		Long: `Show the events of the organization's objects, oldest first. Events are
kept for an hour.`,
		Example: "  kqueen event list\n  kqueen event list --kind Cluster --name demo --watch\n  kqueen event list --type Warning -o json",
		Args:    command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return l.AllEvents(cmd.Context(), name, func(o client.Object) bool {
				event, ok := o.(*eventsv1.Event)
				return ok && event.Regarding.APIVersion == v1alpha1.GroupVersion.String() &&
					(kind == "" || event.Regarding.Kind == kind) && (sort == "" || event.Type == sort)
			})
		},
	}
	l.Register(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only events of this kind of object, such as Cluster")
	cmd.Flags().StringVar(&name, "name", "", "only events of objects of this name")
	cmd.Flags().StringVar(&sort, "type", "", "only events of this type: Normal or Warning")
	_ = cmd.RegisterFlagCompletionFunc("kind", command.OneOf(kinds.Cluster.Kind, kinds.NodePool.Kind, kinds.Machine.Kind, "ControlPlane", kinds.Provisioner.Kind))
	_ = cmd.RegisterFlagCompletionFunc("name", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("type", command.OneOf("Normal", "Warning"))
	return cmd
}
