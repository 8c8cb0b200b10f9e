package cli

import "github.com/spf13/cobra"

// newDeleteNodePoolCommand returns `nodepool delete`.
func newDeleteNodePoolCommand(e *env) *cobra.Command {
	d := &deletion{env: e, noun: nodePoolNoun, content: "nodes"}
	cmd := &cobra.Command{
		Use:     "delete NAME...",
		Aliases: []string{"rm"},
		Short:   "Delete nodepools and all their nodes",
		Long: `Delete nodepools and all their nodes. Pods leave a node before it is removed;
what is only on the node itself is lost.

A terminal is asked first. Without one, --yes is required.`,
		Example: `  kqueen nodepool delete gpu
  kqueen nodepool delete gpu spare --yes --wait=false`,
	}
	d.register(cmd)
	return cmd
}
