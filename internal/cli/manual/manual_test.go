package manual_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/internal/cli/manual"
)

func TestPages(t *testing.T) {
	do := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "kq", Long: "Make <clusters>\nof all sorts."}
	root.PersistentFlags().String("org", "", "organization (env KQ_ORG)")
	root.CompletionOptions.DisableDefaultCmd = true
	cluster := &cobra.Command{Use: "cluster", Aliases: []string{"clusters"}, Short: "Clusters", Run: do}
	create := &cobra.Command{
		Use: "create NAME", Short: "Create a cluster", Run: do,
		Long:    "Create a cluster:\n\n  one    alone\n  two    *together*\n\nand wait.",
		Example: "  kq cluster create a\n    --wait",
	}
	create.Flags().StringP("file", "f", "", "`FILE|-` with clusters")
	create.Flags().Int("nodes", 1, "how many")
	create.Flags().Bool("wait", false, "wait")
	create.Flags().String("secret", "", "hidden")
	_ = create.Flags().MarkHidden("secret")
	cluster.AddCommand(create, &cobra.Command{Use: "gone", Hidden: true, Run: do})
	root.AddCommand(cluster, &cobra.Command{Use: "codes", Short: "Exit codes", Long: "  0    done"})

	const origin = "<!-- generated from the commands by: go test ./internal/cli -run TestReference -update -->\n\n"
	want := map[string]string{
		manual.Index: origin + `# Command line

Make \<clusters\>
of all sorts.

## Exit codes

` + "```text\n  0    done\n```" + `

## Flags of every command

| Flag | Default | |
|---|---|---|
| ` + "`--org string`" + ` |  | organization (env KQ\_ORG) |

## Commands

| Command | |
|---|---|
| [kq cluster](cluster.md) | Clusters |
| [kq cluster create](cluster.md#kq-cluster-create) | Create a cluster |
`,
		"cluster.md": origin + `# kq cluster

Clusters.

Also: ` + "`clusters`" + `

## kq cluster create

Create a cluster:

` + "```text\n  one    alone\n  two    *together*\n```" + `

and wait.

` + "```text\nkq cluster create NAME [flags]\n```\n\n```console\nkq cluster create a\n  --wait\n```" + `

| Flag | Default | |
|---|---|---|
| ` + "`-f, --file FILE\\|-`" + ` |  | FILE\|- with clusters |
| ` + "`--nodes int`" + ` | ` + "`1`" + ` | how many |
| ` + "`--wait`" + ` |  | wait |
`,
	}
	if diff := cmp.Diff(want, manual.Pages(root)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
