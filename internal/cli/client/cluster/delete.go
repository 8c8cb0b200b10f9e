package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// newDeleteClusterCommand returns `cluster delete`.
func newDeleteClusterCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.Cluster, Content: "data"}
	d.Losses = func(ctx context.Context, c *objects.Client, doomed []client.Object) error {
		sayAdopted(e, doomed)
		return sayPools(ctx, e, c, doomed)
	}
	d.Deleted = func(names []string) {
		api, err := e.API()
		if err != nil {
			return // it was there a moment ago
		}
		installation := clusteraccess.NewEntry(api, e.Organization(), "").Installation
		clusteraccess.ForgetHere(e, func(c clusteraccess.Entry) bool {
			return c.Installation == installation && c.Organization == e.Organization() && slices.Contains(names, c.Cluster)
		})
	}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete clusters and all their data",
		Long: `Delete clusters and all their data. Their nodepools and nodes go with them, and so do
their contexts in your kubeconfig. A cluster that was adopted stays as it is; KQueen
forgets it and its kubeconfig.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen cluster delete demo
  kqueen cluster delete demo test --yes --wait=false`,
	}
	d.Register(cmd)
	return cmd
}

// sayAdopted tells which clusters stay as they are.
func sayAdopted(e *connection.Env, doomed []client.Object) {
	for _, object := range doomed {
		if c, ok := object.(*v1alpha1.Cluster); ok && kinds.Adopted(c) {
			e.Say("cluster %s was adopted: it stays as it is where it was created, and KQueen forgets it", c.Name)
		}
	}
}

// sayPools tells which nodepools go with clusters.
func sayPools(ctx context.Context, e *connection.Env, c *objects.Client, doomed []client.Object) error {
	for _, object := range doomed {
		pools, err := kinds.PoolsOf(ctx, e, c, object.GetName())
		if err != nil {
			return err
		}
		if len(pools) > 0 {
			e.Say("cluster %s has %s, which go with it", object.GetName(), poolsInWords(pools))
		}
	}
	return nil
}

// poolsInWords says which pools, with how many nodes in all.
func poolsInWords(pools []*v1alpha1.NodePool) string {
	var count int32
	words := make([]string, 0, len(pools))
	for _, pool := range pools {
		count += pool.Status.Replicas
		words = append(words, pool.Name)
	}
	if len(pools) == 1 {
		return fmt.Sprintf("nodepool %s with %s", words[0], kinds.Nodes(count))
	}
	return fmt.Sprintf("nodepools %s with %s", console.List(words), kinds.Nodes(count))
}
