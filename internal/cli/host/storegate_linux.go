package host

import (
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/hosting/storegate"
	"kqueen.io/kqueen/internal/platform/handover"
)

// newStoreGateCommand is what stands before the data store of all control planes. "kqueen up" starts it; users do not.
func newStoreGateCommand() *cobra.Command {
	p := storegate.Process{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	cmd := &cobra.Command{
		Use:    "store-gate --listen ADDRESS:PORT --store HOST:PORT,... --tenants FILE ...",
		Short:  "Run the gate of a data store",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p.Leave = handover.Asked()
			return p.Run(cmd.Context())
		},
	}
	for _, f := range []struct {
		value       *string
		name, usage string
	}{
		{&p.Listen, "listen", "address and port on which API servers connect"},
		{&p.Handover, "handover", "folder in which the port is passed from one gate to the next"},
		{&p.StoreCA, "store-ca", "file with the authority of the etcd's certificate"},
		{&p.ClientCA, "client-ca", "file with the authority of API servers' certificates"},
		{&p.Certificate, "certificate", "file with the certificate that is presented to API servers"},
		{&p.Key, "key-file", "file with its key"},
		{&p.Tenants, "tenants", "file with the tenants and their quotas, which is followed"},
		{&p.Usage, "usage", "file that says how much tenants hold"},
		{&p.Health, "health", "address and port that answers GET /healthz"},
	} {
		cmd.Flags().StringVar(f.value, f.name, "", f.usage)
		_ = cmd.MarkFlagRequired(f.name)
	}
	cmd.Flags().StringSliceVar(&p.Store, "store", nil, "host and port of each member of the etcd")
	_ = cmd.MarkFlagRequired("store")
	return cmd
}
