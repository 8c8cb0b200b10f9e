package inventory

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// one is a question to one cluster itself.
type one struct {
	env             *connection.Env
	cluster, format string
}

func (o *one) register(cmd *cobra.Command, formats []string) {
	cmd.Flags().StringVar(&o.cluster, "cluster", "", "the cluster to ask (required)")
	_ = cmd.RegisterFlagCompletionFunc("cluster", kinds.CompleteNames(o.env, kinds.Cluster, -1))
	command.RegisterOutput(cmd, &o.format, "table", formats)
}

// connect returns the API once it is said which cluster is asked.
func (o *one) connect(cmd *cobra.Command) (*connection.API, error) {
	if o.cluster == "" {
		return nil, exit.UsageError(cmd, "--cluster: want the name of a cluster")
	}
	return o.env.API()
}

// sayGaps says what is not in an answer.
func (o *one) sayGaps(now rest.ClusterNow) {
	for _, n := range now.NotRead {
		o.env.Say("not read in full: %s: %s", n.Resource, n.Reason)
	}
}
