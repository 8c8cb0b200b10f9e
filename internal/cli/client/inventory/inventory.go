package inventory

import (
	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
)

// NewCommand returns `inventory` and what is under it.
func NewCommand(e *connection.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inventory",
		Aliases: []string{"inv"},
		Short:   "Ask what runs in clusters, now and before",
		Long: `Ask what runs in the clusters of an organization, with -A in those of all
organizations that you belong to: images, containers, versions of Kubernetes'
programs, nodes, workloads, certificates, and what deserves attention.

--at asks as of a time. Clusters that cannot be reached are shown as they were
seen last; the column AS OF says so, and "kqueen inventory clusters" why. topology
and usage ask one cluster itself, as it is now.`,
		Example: `  kqueen inventory images -A
  kqueen inventory who-runs nginx:1.27 -A
  kqueen inventory binaries -A --component kubelet --version '<1.35' --places
  kqueen inventory images --between 'last monday,now'
  kqueen inventory findings -A --fail-on critical
  kqueen inventory topology --cluster shop -n web
  kqueen inventory usage --cluster shop`,
	}
	command.Group(cmd)
	cmd.AddCommand(newImagesCommand(e), newContainersCommand(e), newWhoRunsCommand(e), newBinariesCommand(e), newNodesCommand(e), newWorkloadsCommand(e),
		newCertificatesCommand(e), newFindingsCommand(e), newClustersCommand(e), newTopologyCommand(e), newUsageCommand(e))
	return cmd
}

func newImagesCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	var by string
	cmd := &cobra.Command{
		Use:     "images",
		Aliases: []string{"image"},
		Short:   "List the images that run, or what changed between two times",
		Long: `List the images that containers run, one row for each name and digest: those of
init, sidecar and ephemeral containers and of static pods, too. AGE is since when
it was seen first. Images that lie on nodes and do not run are not among them.

With --from or --between it is what appeared and vanished between two times. With
--group-by rows are counted together, here, over up to 100000 containers. -o cyclonedx
writes a bill of materials (JSON, 1.6) with a component for each image.`,
		Example: `  kqueen inventory images
  kqueen inventory images -A --text log4j --at 2026-03-01
  kqueen inventory images -A --repository 'docker.io/*' --group-by repository
  kqueen inventory images --cluster shop --from 7d
  kqueen inventory images -A -o cyclonedx > images.cdx.json`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if by != "" {
				return grouped(cmd, q, by)
			}
			if q.compares() {
				return changed(images(), func(i rest.InventoryImage) rest.InventoryChange { return i.Change }).run(cmd, q)
			}
			return images().run(cmd, q)
		},
	}
	q.registerWhere(cmd, ofImages)
	q.registerAt(cmd)
	q.registerBetween(cmd)
	q.registerNamespace(cmd)
	q.registerImage(cmd)
	cmd.Flags().StringVar(&by, "group-by", "", "count by repository, image, cluster or organization")
	_ = cmd.RegisterFlagCompletionFunc("group-by", command.OneOf(groupings...))
	return cmd
}

func newContainersCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:     "containers",
		Aliases: []string{"container"},
		Short:   "List containers and the images that they run",
		Example: `  kqueen inventory containers --cluster shop -n payments
  kqueen inventory containers -A --digest sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 -o wide
  kqueen inventory containers -A --at yesterday -o csv > containers.csv`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return containers(nil).run(cmd, q) },
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	q.registerNamespace(cmd)
	q.registerImage(cmd)
	return cmd
}

func newBinariesCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:     "binaries",
		Aliases: []string{"binary", "versions"},
		Short:   "List the versions of Kubernetes' programs, or what changed between two times",
		Long: `List the versions of the programs of Kubernetes that run in clusters, and of what
belongs to it: API server, controller manager, scheduler, etcd, kubelet, kube-proxy,
container runtime, DNS, network and storage plugins. With --places there is a row
for each node or cluster where one runs.

A program that a provider runs is shown as provider-managed: its version cannot be seen.`,
		Example: `  kqueen inventory binaries -A
  kqueen inventory binaries -A --component kubelet --version '<1.35' --places
  kqueen inventory binaries -A --at 'last tuesday' -o json
  kqueen inventory binaries --between 2026-03-01,2026-04-01`,
		Args: command.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case q.compares():
				return changed(binaries(), func(b rest.InventoryBinary) rest.InventoryChange { return b.Change }).run(cmd, q)
			case q.filter.Places:
				return binaryPlaces().run(cmd, q)
			}
			return binaries().run(cmd, q)
		},
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	q.registerBetween(cmd)
	q.registerComponent(cmd)
	return cmd
}

func newNodesCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:     "nodes",
		Short:   "List nodes as their clusters have them",
		Example: "  kqueen inventory nodes -A\n  kqueen inventory nodes --cluster shop --at 24h -o wide",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return nodes().run(cmd, q) },
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	return cmd
}

func newWorkloadsCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:     "workloads",
		Aliases: []string{"workload"},
		Short:   "List Deployments, StatefulSets, DaemonSets, Jobs and CronJobs",
		Example: "  kqueen inventory workloads --cluster shop\n  kqueen inventory workloads -A -n payments --at yesterday",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return workloads().run(cmd, q) },
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	q.registerNamespace(cmd)
	return cmd
}

func newCertificatesCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:     "certificates",
		Aliases: []string{"certificate", "certs"},
		Short:   "List the certificates that were seen in clusters, and when they expire",
		Example: "  kqueen inventory certificates -A\n  kqueen inventory certificates --cluster shop -o wide",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return certificates().run(cmd, q) },
	}
	q.registerWhere(cmd, formats)
	q.registerAt(cmd)
	q.registerNamespace(cmd)
	return cmd
}

func newClustersCommand(e *connection.Env) *cobra.Command {
	q := &question{env: e}
	cmd := &cobra.Command{
		Use:     "clusters",
		Short:   "List the clusters that are known, and as of when each is",
		Example: "  kqueen inventory clusters -A\n  kqueen inventory clusters --cluster-label env=prod -o json",
		Args:    command.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return clusters().run(cmd, q) },
	}
	q.registerWhere(cmd, formats)
	return cmd
}
