package cluster

import (
	"context"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// newEventsCommand returns `cluster events`.
func newEventsCommand(e *connection.Env) *cobra.Command {
	l := &verbs.Listing{Env: e, Kind: kinds.Event, Sort: kinds.OldestFirst}
	cmd := &cobra.Command{
		Use:   "events NAME",
		Short: "Show the events of a cluster",
		Long: `Show the events of a cluster and its control plane, oldest first. Events are
kept for an hour.`,
		Example:           "  kqueen cluster events demo\n  kqueen cluster events demo --watch",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return showEvents(cmd.Context(), l, args[0])
		},
	}
	l.Register(cmd)
	return cmd
}

// events shows the events of a cluster. A cluster that is gone may still have some.
func showEvents(ctx context.Context, l *verbs.Listing, name string) error {
	c, err := l.Env.Connect()
	if err != nil {
		return err
	}
	s := kinds.EventsOf(l.Env, name, kinds.Cluster.Kind, "ControlPlane")
	found, err := kinds.Fetch(ctx, c, s)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		if _, err := kinds.Find(ctx, l.Env, c, kinds.Cluster, name); err != nil {
			return err
		}
	}
	return l.Show(ctx, c, []kinds.Source{s})
}
