package cli

import (
	"context"

	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newEventCommand returns `event` and what is under it.
func newEventCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "event",
		Aliases: []string{"events"},
		Short:   "What happened in an organization",
		Example: "  kqueen event list --kind NodePool",
	}
	asGroup(cmd)
	cmd.AddCommand(newListEventsCommand(e))
	return cmd
}

func newListEventsCommand(e *env) *cobra.Command {
	l := &listing{env: e, noun: eventNoun, sort: oldestFirst}
	var kind, name, sort string
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "Show what happened to the organization's objects",
		Long: `Show what happened to the organization's objects, oldest first. The admin plane
forgets events after an hour.`,
		Example: "  kqueen event list\n  kqueen event list --kind Cluster --name demo --watch\n  kqueen event list --type Warning -o json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := source{noun: eventNoun, keep: func(o client.Object) bool {
				event, ok := o.(*eventsv1.Event)
				return ok && event.Regarding.APIVersion == v1alpha1.GroupVersion.String() &&
					(kind == "" || event.Regarding.Kind == kind) && (sort == "" || event.Type == sort)
			}}
			if name != "" {
				s.options = []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("regarding.name", name)}}
			}
			return l.allEvents(cmd.Context(), s)
		},
	}
	l.register(cmd)
	cmd.Flags().StringVar(&kind, "kind", "", "only what happened to this kind of object, such as Cluster")
	cmd.Flags().StringVar(&name, "name", "", "only what happened to objects of this name")
	cmd.Flags().StringVar(&sort, "type", "", "only events of this type: Normal or Warning")
	_ = cmd.RegisterFlagCompletionFunc("kind", oneOf(clusterNoun.kind, nodePoolNoun.kind, machineNoun.kind, "ControlPlane", provisionerNoun.kind))
	_ = cmd.RegisterFlagCompletionFunc("name", noCompletion)
	_ = cmd.RegisterFlagCompletionFunc("type", oneOf("Normal", "Warning"))
	return cmd
}

func (l *listing) allEvents(ctx context.Context, s source) error {
	c, err := l.env.connect()
	if err != nil {
		return err
	}
	s.namespace = l.env.namespace() // the way may have brought an organization with it
	return l.show(ctx, c, []source{s})
}
