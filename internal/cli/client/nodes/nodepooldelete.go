package nodes

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// newDeleteNodePoolCommand returns `nodepool delete`.
func newDeleteNodePoolCommand(e *connection.Env) *cobra.Command {
	d := &verbs.Deletion{Env: e, Kind: kinds.NodePool, Content: "nodes"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete nodepools and all their nodes",
		Long: `Delete nodepools and all their nodes. Pods leave a node before it is removed;
what is only on the node itself is lost, volumes on its disk among it.

You are asked first; without a terminal, --yes is required.`,
		Example: `  kqueen nodepool delete gpu
  kqueen nodepool delete gpu spare --yes --wait=false`,
	}
	d.Register(cmd)
	return cmd
}
