package host

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/hosting/egress"
)

// newEgressCommand is what carries calls of API servers into their clusters. "kqueen up" starts it; users do not.
func newEgressCommand() *cobra.Command {
	s := egress.Server{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	cmd := &cobra.Command{
		Use:    "egress --workloads DIR",
		Short:  "Run the egress proxy",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return s.Run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&s.Dir, "workloads", "", "directory of the workloads, whose marks say where calls come from and go to")
	_ = cmd.MarkFlagRequired("workloads")
	return cmd
}
