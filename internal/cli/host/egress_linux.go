package host

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/hosting/egress"
	"kqueen.io/kqueen/internal/platform/handover"
	"kqueen.io/kqueen/internal/platform/healthz"
)

// newEgressCommand is what carries calls of API servers into their clusters. "kqueen up" starts it; users do not.
func newEgressCommand() *cobra.Command {
	s := egress.Server{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	health := ""
	cmd := &cobra.Command{
		Use:    "egress --workloads DIR --health ADDRESS:PORT",
		Short:  "Run the egress proxy",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := net.Listen("tcp", health)
			if err != nil {
				return fmt.Errorf("open the egress proxy's port for health: %w", err)
			}
			s.Leave = handover.Asked()
			ctx, end := context.WithCancel(cmd.Context())
			defer end()
			group, ctx := errgroup.WithContext(ctx)
			group.Go(func() error {
				// It is closed by one that leaves: the port is free then for another one of the same build.
				ctx, closed := context.WithCancel(ctx)
				defer closed()
				go func() {
					select {
					case <-s.Leave:
						closed()
					case <-ctx.Done():
					}
				}()
				return healthz.Serve(ctx, l, nil, nil)
			})
			group.Go(func() error {
				defer end()
				return s.Run(ctx)
			})
			return group.Wait()
		},
	}
	cmd.Flags().StringVar(&s.Dir, "workloads", "", "directory of the workloads, whose marks say where calls come from and go to")
	cmd.Flags().StringVar(&health, "health", "", "address and port that answers GET /healthz")
	for _, name := range []string{"workloads", "health"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}
