package host

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/platform/handover"
)

// newGatewayCommand is the front of all API servers, or of the applications in clusters. "kqueen up" starts it; users do not.
func newGatewayCommand() *cobra.Command {
	p := gateway.Process{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	cmd := &cobra.Command{
		Use:    "gateway --listen ADDRESS:PORT --handover DIR --routes FILE --health ADDRESS:PORT",
		Short:  "Run the gateway",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.Leave = handover.Asked()
			return p.Run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&p.Listen, "listen", "", "address and port on which clients connect")
	cmd.Flags().StringVar(&p.Handover, "handover", "", "folder in which the port is passed from one gateway to the next")
	cmd.Flags().StringVar(&p.Routes, "routes", "", "file with the routes, which is followed")
	cmd.Flags().StringVar(&p.Health, "health", "", "address and port that answers GET /healthz")
	cmd.Flags().Uint16Var(&p.PlainPort, "plain-port", 0, "port of backends for plain HTTP, which is refused without")
	for _, name := range []string{"listen", "handover", "routes", "health"} {
		_ = cmd.MarkFlagRequired(name)
	}
	return cmd
}
