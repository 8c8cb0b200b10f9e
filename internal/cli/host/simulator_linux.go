package host

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/clusters/simulator"
)

// newSimulatorCommand serves the simulated clusters of a demonstration. "kqueen up --demo" has it started; users do not.
func newSimulatorCommand() *cobra.Command {
	p := simulator.Process{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	cmd := &cobra.Command{
		Use:    "simulator --listen ADDRESS:PORT --certificate FILE --key-file FILE --secret-file FILE --health ADDRESS:PORT",
		Short:  "Serve simulated clusters",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE:   func(cmd *cobra.Command, _ []string) error { return p.Run(cmd.Context()) },
	}
	cmd.Flags().StringVar(&p.Listen, "listen", "", "address and port on which API servers are called")
	cmd.Flags().StringVar(&p.Certificate, "certificate", "", "file with the certificate that is presented")
	cmd.Flags().StringVar(&p.Key, "key-file", "", "file with its key")
	cmd.Flags().StringVar(&p.Secret, "secret-file", "", "file with what tokens are derived from")
	cmd.Flags().StringVar(&p.Health, "health", "", "address and port that answers GET /healthz")
	for _, name := range []string{"listen", "certificate", "key-file", "secret-file", "health"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}
