package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// newEventsCommand returns `cluster events`.
func newEventsCommand(e *env) *cobra.Command {
	l := &listing{env: e, noun: eventNoun, sort: oldestFirst}
	cmd := &cobra.Command{
		Use:   "events NAME",
		Short: "Show what happened to a cluster",
		Long: `Show what happened to a cluster and its control plane, oldest first. The admin
plane forgets events after an hour.`,
		Example:           "  kqueen cluster events demo\n  kqueen cluster events demo --watch",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(clusterNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showEvents(cmd.Context(), l, args[0])
		},
	}
	l.register(cmd)
	return cmd
}

// events shows the events of a cluster. A cluster that is gone may still have some.
func showEvents(ctx context.Context, l *listing, name string) error {
	c, err := l.env.connect()
	if err != nil {
		return err
	}
	s := l.env.eventsOf(name, clusterNoun.kind, "ControlPlane")
	found, err := fetch(ctx, c, s)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if _, err := l.env.find(ctx, c, clusterNoun, name); err != nil {
			return err
		}
	}
	return l.show(ctx, c, []source{s})
}

// eventsOf is the source of the events of the objects of that name that are of one of the kinds.
func (e *env) eventsOf(name string, kinds ...string) source {
	return source{
		noun:      eventNoun,
		namespace: e.namespace(),
		options:   []client.ListOption{client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("regarding.name", name)}},
		keep: func(object client.Object) bool {
			event, ok := object.(*eventsv1.Event)
			return ok && event.Regarding.APIVersion == v1alpha1.GroupVersion.String() &&
				slices.Contains(kinds, event.Regarding.Kind)
		},
	}
}

// oldestFirst sorts events by when they were last seen.
func oldestFirst(events []client.Object) {
	slices.SortStableFunc(events, func(a, b client.Object) int {
		first, ok1 := a.(*eventsv1.Event)
		second, ok2 := b.(*eventsv1.Event)
		if !ok1 || !ok2 {
			return 0
		}
		return seenAt(first).Compare(seenAt(second))
	})
}
