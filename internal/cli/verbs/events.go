package verbs

import (
	"context"

	"kqueen.io/kqueen/internal/cli/kinds"
)

// AllEvents prints the events of a source that are of the organization.
func (l *Listing) AllEvents(ctx context.Context, s kinds.Source) error {
	c, err := l.Env.Connect()
	if err != nil {
		return err
	}
	s.Namespace = l.Env.Namespace() // the way may have brought an organization with it
	return l.Show(ctx, c, []kinds.Source{s})
}
