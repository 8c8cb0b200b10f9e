package cluster

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// newIngressCACommand returns `cluster ingress-ca`.
func newIngressCACommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:   "ingress-ca NAME",
		Short: "Print the authority that signs the certificates of a cluster's applications",
		Long: `Print the certificate (PEM) of the authority that signs the default
certificate of a cluster's Ingresses and Gateways. It signs names below the
cluster's own domains alone: browsers and programs can trust it for these.`,
		Example: `  kqueen cluster ingress-ca demo > demo-ca.crt
  curl --cacert demo-ca.crt https://web.demo.default.localhost:7443`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Cluster, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := e.Connect()
			if err != nil {
				return err
			}
			cluster, err := kinds.FindAs[*v1alpha1.Cluster](cmd.Context(), e, c, kinds.Cluster, args[0])
			if err != nil {
				return err
			}
			if cluster.Status.Ingress == nil {
				return exit.Fail(exit.Failed, "cluster %s has no authority for its applications yet: it comes with the first node pool", args[0])
			}
			_, err = e.Stdout.Write(cluster.Status.Ingress.CA)
			return err
		},
	}
}

// describeApplications says by which names applications in the cluster can be reached.
func describeApplications(p *describe.Page, c *v1alpha1.Cluster) {
	ingress := c.Status.Ingress
	if ingress == nil {
		return
	}
	var names []string
	for _, domain := range ingress.Domains {
		names = append(names, "*."+domain)
	}
	port := ""
	if ingress.Port != 0 {
		port = fmt.Sprintf("%d, HTTPS and HTTP", ingress.Port)
	}
	p.Heading("Applications")
	p.Fields("  ",
		"Names", strings.Join(names, ", "),
		"Ingress address", ingress.Address,
		"Port of KQueen's host", port,
	)
}
