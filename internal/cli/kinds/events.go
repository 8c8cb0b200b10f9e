package kinds

import (
	"slices"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/connection"
)

// EventsOf is the source of the events of the objects of that name that are of one of the kinds.
func EventsOf(e *connection.Env, name string, kinds ...string) Source {
	s := In(e, Event)
	s.Name = name
	s.Keep = func(object client.Object) bool {
		event, ok := object.(*eventsv1.Event)
		return ok && event.Regarding.APIVersion == v1alpha1.GroupVersion.String() && slices.Contains(kinds, event.Regarding.Kind)
	}
	return s
}

// OldestFirst sorts events by when they were last seen.
func OldestFirst(events []client.Object) {
	slices.SortStableFunc(events, func(a, b client.Object) int {
		first, ok1 := a.(*eventsv1.Event)
		second, ok2 := b.(*eventsv1.Event)
		if !ok1 || !ok2 {
			return 0
		}
		return seenAt(first).Compare(seenAt(second))
	})
}
