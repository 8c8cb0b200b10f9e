package nodes

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// poolCreation is one run of `nodepool create`.
type poolCreation struct {
	verbs.Creation
	// pool is what the flags say.
	pool           *v1alpha1.NodePool
	least, most    int32
	autoscale      bool
	idle           int32
	labels, taints []string
	resources      v1alpha1.MachineResources
}

// newCreateNodePoolCommand returns `nodepool create`.
func newCreateNodePoolCommand(e *connection.Env) *cobra.Command {
	c := &poolCreation{Creation: verbs.Creation{Env: e, Kind: kinds.NodePool}, pool: kinds.NewNodePool(), idle: *autoscaled().IdleSeconds}
	c.FromFlags = c.build
	cmd := &cobra.Command{
		Use:   "create [NAME]",
		Short: "Create a nodepool",
		Long: `Create a nodepool, which is a set of identical nodes of one cluster, from flags or
from files.

With --filename every document of the file has to be a NodePool; all are checked
before the first is created.

A node that is unready for longer than --unready-timeout is replaced, unless
more than --max-unhealthy are unhealthy at once: then the cause is probably not
the nodes, and none is. Pods leave a node before it is removed; those that a
PodDisruptionBudget holds back may take --drain-timeout, where 0 means no limit.

With --autoscale KQueen chooses the number of nodes from --min to --max, by the need
of the cluster's pods; see "kqueen nodepool autoscale".`,
		Example: `  kqueen nodepool create workers --cluster demo --nodes 2 --wait
  kqueen nodepool create gpu --cluster demo --label gpu=yes --taint gpu=yes:NoSchedule
  kqueen nodepool create small --cluster demo --cpu 2 --memory 4Gi
  kqueen nodepool create busy --cluster demo --min 2 --max 10 --max-surge 25%
  kqueen nodepool create burst --cluster demo --autoscale --max 10 --cpu 2 --memory 4Gi
  kqueen nodepool create -f nodepools.yaml --dry-run=server`,
		Args:              command.Names(0, 1),
		ValidArgsFunction: command.NoCompletion,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.checkFlags(cmd, args); err != nil {
				return err
			}
			return c.Run(cmd.Context(), args)
		},
	}
	c.registerFlags(cmd)
	return cmd
}

// registerFlags adds the flags.
func (c *poolCreation) registerFlags(cmd *cobra.Command) {
	flags, spec := cmd.Flags(), &c.pool.Spec
	flags.StringVar(&spec.ClusterName, "cluster", "", "cluster that the nodes are for")
	flags.Int32Var(&spec.Replicas, "nodes", spec.Replicas, "how many nodes to create; without it and with --min or --autoscale, as many as the minimum")
	flags.Int32Var(&c.least, "min", 0, "minimum number of nodes that the nodepool may be scaled to")
	flags.Int32Var(&c.most, "max", 0, "maximum number of nodes that the nodepool may be scaled to")
	flags.BoolVar(&c.autoscale, "autoscale", false, "have KQueen scale the nodepool by the need of pods, from --min to --max")
	flags.Var(period{&c.idle}, "idle-after", "with --autoscale, how long a node must not have been needed before it is removed")
	flags.StringVar(&spec.Version, "version", "", "version of Kubernetes on the nodes, such as v1.36.3 (default that of the cluster)")
	flags.StringVar(&spec.Template.Provider, "provider", spec.Template.Provider, "what creates the machines: local, or manual for machines of your own")
	flags.Var(amount{&c.resources.CPU}, "cpu", "processors of each node, such as 2 or 500m (default all of the host's)")
	flags.Var(amount{&c.resources.Memory}, "memory", "memory of each node, such as 4Gi (default all of the host's)")
	flags.Var(amount{&spec.Template.VolumeCapacity}, "volume-capacity", "what the volumes on the disk of each node may have together, such as 50Gi (default what the disk has)")
	flags.StringArrayVar(&c.labels, "label", nil, "label of the nodes, as KEY=VALUE; may be repeated")
	flags.StringArrayVar(&c.taints, "taint", nil, "taint of the nodes, as KEY[=VALUE]:EFFECT; may be repeated")
	flags.Var(period{spec.Health.UnreadyTimeoutSeconds}, "unready-timeout", "how long a node may be unready before it is replaced")
	flags.Var(period{spec.Health.StartupTimeoutSeconds}, "startup-timeout", "how long a new node may take before it is replaced")
	flags.Var(period{spec.Template.Drain.TimeoutSeconds}, "drain-timeout", "how long pods may take to leave a node; 0 for no limit")
	flags.Var(share{spec.Health.MaxUnhealthy}, "max-unhealthy", "maximum number of unhealthy nodes that are still replaced")
	flags.Var(share{spec.Rollout.MaxSurge}, "max-surge", "maximum number of extra nodes during an update")
	flags.Var(share{spec.Rollout.MaxUnavailable}, "max-unavailable", "maximum number of missing nodes during an update")
	complete := map[string]cobra.CompletionFunc{
		"cluster":  kinds.CompleteNames(c.Env, kinds.Cluster, -1),
		"version":  kinds.CompleteNames(c.Env, kinds.Release, -1),
		"provider": command.OneOf(v1alpha1.ProviderLocal, v1alpha1.ProviderManual),
	}
	for _, name := range []string{
		"cluster", "nodes", "min", "max", "autoscale", "idle-after", "version", "provider", "cpu", "memory", "volume-capacity", "label", "taint", "unready-timeout", "startup-timeout",
		"drain-timeout", "max-unhealthy", "max-surge", "max-unavailable",
	} {
		c.Excludes = append(c.Excludes, name)
		if complete[name] == nil {
			complete[name] = command.NoCompletion
		}
		_ = cmd.RegisterFlagCompletionFunc(name, complete[name])
	}
	c.Register(cmd)
}

// checkFlags refuses command lines that contradict themselves, and reads the flags that have a language of
// their own.
func (c *poolCreation) checkFlags(cmd *cobra.Command, args []string) error {
	if err := c.Check(cmd, args); err != nil || c.File != "" {
		return err
	}
	spec := &c.pool.Spec
	if spec.ClusterName == "" {
		return exit.UsageError(cmd, "name the cluster of the nodes with --cluster")
	}
	if !slices.Contains([]string{v1alpha1.ProviderLocal, v1alpha1.ProviderManual}, spec.Template.Provider) {
		return exit.UsageError(cmd, "--provider: %q has to be %s or %s", spec.Template.Provider, v1alpha1.ProviderLocal, v1alpha1.ProviderManual)
	}
	if c.resources != (v1alpha1.MachineResources{}) {
		if spec.Template.Provider == v1alpha1.ProviderManual {
			return exit.UsageError(cmd, "--cpu and --memory cannot be given with --provider manual: machines of your own have what they have")
		}
		spec.Template.Resources = &c.resources
	}
	if err := kinds.CheckVersion(cmd, spec.Version); err != nil {
		return err
	}
	if err := c.checkSize(cmd); err != nil {
		return err
	}
	var err error
	if spec.Template.Labels, err = parseLabels(c.labels); err != nil {
		return exit.UsageError(cmd, "--label: %w", err)
	}
	if spec.Template.Taints, err = parseTaints(c.taints); err != nil {
		return exit.UsageError(cmd, "--taint: %w", err)
	}
	return nil
}

// checkSize reads how many nodes there shall be, and between which bounds.
func (c *poolCreation) checkSize(cmd *cobra.Command) error {
	spec, changed := &c.pool.Spec, cmd.Flags().Changed
	if changed("min") {
		spec.MinReplicas = &c.least
	}
	if changed("max") {
		spec.MaxReplicas = &c.most
	}
	if err := c.checkAutoscaling(cmd); err != nil {
		return err
	}
	if !changed("nodes") {
		if c.autoscale {
			spec.Replicas = 0
		}
		spec.Replicas = max(spec.Replicas, c.least)
		if spec.MaxReplicas != nil {
			spec.Replicas = min(spec.Replicas, c.most)
		}
	}
	for _, size := range []struct {
		flag  string
		count int32
	}{{"nodes", spec.Replicas}, {"min", c.least}, {"max", c.most}} {
		if err := kinds.CheckNodes(cmd, size.flag, size.count); err != nil {
			return err
		}
	}
	switch {
	case changed("max") && c.least > c.most:
		return exit.UsageError(cmd, "--min %d is above --max %d", c.least, c.most)
	case spec.Replicas < c.least:
		return exit.UsageError(cmd, "--nodes %d is below --min %d", spec.Replicas, c.least)
	case changed("max") && spec.Replicas > c.most:
		return exit.UsageError(cmd, "--nodes %d is above --max %d", spec.Replicas, c.most)
	}
	return nil
}

// checkAutoscaling reads how KQueen scales the pool, if it does.
func (c *poolCreation) checkAutoscaling(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case !c.autoscale && changed("idle-after"):
		return exit.UsageError(cmd, "--idle-after is about a nodepool with --autoscale")
	case !c.autoscale:
		return nil
	case !changed("max"):
		return exit.UsageError(cmd, "--autoscale needs --max: say how many nodes the nodepool may have at most")
	case c.idle < 1:
		return exit.UsageError(cmd, "--idle-after has to be at least 1s")
	case c.pool.Spec.Template.Provider == v1alpha1.ProviderManual:
		return exit.UsageError(cmd, "--autoscale cannot be given with --provider manual: KQueen cannot create machines of your own")
	}
	c.pool.Spec.Autoscaling = &v1alpha1.PoolAutoscaling{IdleSeconds: &c.idle}
	return nil
}

// build returns the pool that the flags say. That its cluster is there is checked now, so that a slip of the
// pen is not found in a condition.
func (c *poolCreation) build(ctx context.Context, connected *objects.Client, _ error, name string) ([]client.Object, error) {
	c.pool.Name = name
	if c.DryRun == verbs.DryRunClient {
		return []client.Object{c.pool}, nil
	}
	if absent := kinds.CheckOrganization(ctx, c.Env, connected); absent != nil {
		return nil, absent
	}
	_, err := kinds.Find(ctx, c.Env, connected, kinds.Cluster, c.pool.Spec.ClusterName)
	if objects.IsForbidden(err) { // the server judges the rest
		err = nil
	}
	return []client.Object{c.pool}, err
}
