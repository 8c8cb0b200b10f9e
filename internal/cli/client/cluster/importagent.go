package cluster

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/exit"
)

// agentImport is how a cluster is adopted by an agent in it.
type agentImport struct {
	wanted, manifest bool
	image            string
}

// checkAgent refuses what is for kubeconfigs.
func (i *clusterImport) checkAgent(cmd *cobra.Command) error {
	for _, flag := range []string{"kubeconfig", "kubeconfig-context", "service-account", "force"} {
		if cmd.Flags().Changed(flag) {
			return exit.UsageError(cmd, "--%s cannot be used with --agent: the agent has credentials of its own in the cluster", flag)
		}
	}
	if i.dryRun && (i.wait || i.byAgent.manifest) {
		return exit.UsageError(cmd, "--dry-run cannot be used with --wait or --manifest: no agent enrolls without a token")
	}
	return nil
}

// runAgent adopts a cluster by an agent, and prints how it is started: that alone is on standard output.
func (i *clusterImport) runAgent(ctx context.Context, name string) error {
	connected, err := i.env.Connect()
	if err != nil {
		return err
	}
	api, err := i.env.API()
	if err != nil {
		return err
	}
	begun := time.Now()
	created, err := i.ensure(ctx, connected, name)
	if err != nil {
		return err
	}
	if i.dryRun {
		i.env.Say("cluster %s would be adopted by an agent (dry run)", name)
		return nil
	}
	start, err := api.CreateAgentToken(ctx, i.env.Organization(), name, rest.AgentTokenRequest{Members: i.members, Image: i.byAgent.image})
	if err != nil {
		i.undo(ctx, connected, created)
		return fmt.Errorf("get a token for the agent of cluster %s: %w", name, err)
	}
	if err := i.printStart(name, start); err != nil {
		return err
	}
	return i.await(ctx, connected, name, begun)
}

func (i *clusterImport) printStart(name string, start *rest.AgentToken) error {
	text := start.Command + "\n"
	if i.byAgent.manifest {
		text = start.Manifests
		i.env.Say("apply these manifests in cluster %s before %s; they have a token in them", name, start.ExpiresAt.Local().Format(time.TimeOnly))
	} else {
		i.env.Say("run this where kubectl has the cluster that is to be %s, before %s; it has a token in it:", name, start.ExpiresAt.Local().Format(time.TimeOnly))
	}
	_, err := fmt.Fprint(i.env.Stdout, text)
	return err
}
