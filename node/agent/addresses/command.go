package addresses

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"
)

// Command registers the flags of "agent load-balancer", and returns what it does.
func Command(flags *flag.FlagSet) func(ctx context.Context, node string, client kubernetes.Interface, up func()) error {
	ranges := flags.String("ranges", "", "IPv4 addresses for Services, such as 192.0.2.10-192.0.2.20,198.51.100.0/28; empty for those of -own-last")
	last := flags.Int("own-last", 0, "how many addresses at the end of the node's own network are for Services, where the Node has the label of -own-label")
	label := flags.String("own-label", "", "label of Nodes whose network is KQueen's, as in KEY=VALUE")
	return func(ctx context.Context, node string, client kubernetes.Interface, up func()) error {
		c := Config{Node: node, OwnLast: *last, Client: client}
		var err error
		if c.Ranges, err = ParseRanges(*ranges); err != nil {
			return fmt.Errorf("-ranges: %w", err)
		}
		c.OwnLabel, c.OwnValue, _ = strings.Cut(*label, "=")
		return Run(ctx, c, up)
	}
}
