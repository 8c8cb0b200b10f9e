package verbs

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/kinds"
)

// AllEvents prints the events of the organization, of objects of that name when there is one, that keep keeps.
func (l *Listing) AllEvents(ctx context.Context, name string, keep func(client.Object) bool) error {
	c, err := l.Env.Connect()
	if err != nil {
		return err
	}
	s := kinds.In(l.Env, kinds.Event)
	s.Name, s.Keep = name, keep
	return l.Show(ctx, c, []kinds.Source{s})
}
