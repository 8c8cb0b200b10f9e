package nodes

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/describe"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// autoscaling is one run of `nodepool autoscale`.
type autoscaling struct {
	env         *connection.Env
	least, most int32
	idle        int32
	off, dryRun bool
	tried       string // as --dry-run has it
}

// newAutoscaleCommand returns `nodepool autoscale`.
func newAutoscaleCommand(e *connection.Env) *cobra.Command {
	a := &autoscaling{env: e, idle: *autoscaled().IdleSeconds}
	cmd := &cobra.Command{
		Use:   "autoscale NAME",
		Short: "Have KQueen scale a nodepool by the need of pods",
		Long: `Have KQueen scale a nodepool by the need of the cluster's pods, from --min to --max.

The nodepool gets nodes as soon as pods wait for which it has a node, and loses a node
that was not needed for --idle-after: all of its pods, but for those of
DaemonSets, have a place elsewhere and may go there. Why a pod gets no node, or a
node stays, is in "kqueen nodepool describe". What is not said stays as it is.

With --off the nodepool keeps the nodes that it has.`,
		Example: `  kqueen nodepool autoscale workers --min 0 --max 10
  kqueen nodepool autoscale workers --idle-after 5m
  kqueen nodepool autoscale workers --off`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.NodePool, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.check(cmd); err != nil {
				return err
			}
			return a.run(cmd, args[0])
		},
	}
	flags := cmd.Flags()
	flags.Int32Var(&a.least, "min", 0, "minimum number of nodes (default as before; at first 0)")
	flags.Int32Var(&a.most, "max", 0, "maximum number of nodes (default as before)")
	flags.Var(period{&a.idle}, "idle-after", "how long a node must not have been needed before it is removed")
	flags.BoolVar(&a.off, "off", false, "leave the number of nodes to users again")
	verbs.RegisterDryRun(cmd, &a.tried)
	for _, name := range []string{"min", "max", "idle-after"} {
		_ = cmd.RegisterFlagCompletionFunc(name, command.NoCompletion)
	}
	return cmd
}

// autoscaled is autoscaling with the kind's defaults.
func autoscaled() *v1alpha1.PoolAutoscaling {
	spec := v1alpha1.NodePoolSpec{Autoscaling: &v1alpha1.PoolAutoscaling{}}
	spec.Default()
	return spec.Autoscaling
}

func (a *autoscaling) check(cmd *cobra.Command) error {
	if err := kinds.CheckNodes(cmd, "min", a.least); err != nil {
		return err
	}
	if err := kinds.CheckNodes(cmd, "max", a.most); err != nil {
		return err
	}
	var err error
	if a.dryRun, err = verbs.DryRun(cmd, a.tried); err != nil {
		return err
	}
	changed := cmd.Flags().Changed
	if a.off && (changed("min") || changed("max") || changed("idle-after")) {
		return exit.UsageError(cmd, "--off goes with no other flag")
	}
	if a.idle < 1 {
		return exit.UsageError(cmd, "--idle-after has to be at least 1s")
	}
	if changed("max") && a.least > a.most {
		return exit.UsageError(cmd, "--min %d is above --max %d", a.least, a.most)
	}
	return nil
}

func (a *autoscaling) run(cmd *cobra.Command, name string) error {
	ctx := cmd.Context()
	c, err := a.env.Connect()
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		pool, err := findPool(ctx, a.env, c, name)
		if err != nil {
			return err
		}
		patch, err := a.patch(cmd, pool)
		if err != nil {
			return err
		}
		err = a.write(ctx, c, pool, patch)
		if !objects.IsConflict(err) || try == scaleTries {
			return err
		}
	}
}

// patch is what of the spec changes. How many nodes there are has to be within the bounds from the first moment on.
func (a *autoscaling) patch(cmd *cobra.Command, pool *v1alpha1.NodePool) (map[string]any, error) {
	if a.off {
		return map[string]any{"autoscaling": nil}, nil
	}
	changed, spec := cmd.Flags().Changed, pool.Spec
	least, most := ptr.Deref(spec.MinReplicas, 0), spec.MaxReplicas
	if changed("min") {
		least = a.least
	}
	if changed("max") {
		most = &a.most
	}
	if most == nil {
		return nil, exit.UsageError(cmd, "say how many nodes the nodepool may have at most with --max")
	}
	if least > *most {
		return nil, exit.Fail(exit.Usage, "the minimum of %s is above the maximum of %d; give both --min and --max", kinds.Nodes(least), *most)
	}
	patch := map[string]any{"minReplicas": least, "maxReplicas": *most, "autoscaling": map[string]any{}}
	if changed("idle-after") || spec.Autoscaling == nil {
		patch["autoscaling"] = map[string]any{"idleSeconds": a.idle}
	}
	if within := min(max(spec.Replicas, least), *most); within != spec.Replicas {
		patch["replicas"] = within
	}
	return patch, nil
}

func (a *autoscaling) write(ctx context.Context, c *objects.Client, pool *v1alpha1.NodePool, patch map[string]any) error {
	revision := ""
	if _, sized := patch["replicas"]; sized {
		revision = pool.ResourceVersion
	}
	if err := c.Update(ctx, pool, objects.Patch{Spec: patch}, revision, a.dryRun); err != nil {
		return fmt.Errorf("autoscale nodepool %s: %w", pool.Name, err)
	}
	tense := "is"
	if a.dryRun {
		tense = "would be"
	}
	if pool.Spec.Autoscaling == nil {
		a.env.Say("nodepool %s %s scaled by users alone, and keeps %s", pool.Name, tense, kinds.Nodes(pool.Spec.Replicas))
		return nil
	}
	a.env.Say("nodepool %s %s scaled by the need of pods, from %s", pool.Name, tense, kinds.Bounds(pool))
	if !a.dryRun {
		a.env.Say("see what it does, and why, with: %s", a.env.Command("nodepool describe "+pool.Name))
	}
	return nil
}

// autoscalingInWords says how a pool is scaled.
func autoscalingInWords(spec *v1alpha1.NodePoolSpec) string {
	if spec.Autoscaling == nil {
		return ""
	}
	return "on; a node goes when it was not needed for " + duration.HumanDuration(spec.Autoscaling.IdleTime())
}

// describeAutoscaling adds what was decided of a pool, and why.
func describeAutoscaling(p *describe.Page, pool *v1alpha1.NodePool) {
	s := pool.Status.Autoscaling
	if s == nil {
		return
	}
	p.Heading("Autoscaling")
	last := s.LastScale
	if s.LastScaleTime != nil {
		last += " (" + describe.Ago(s.LastScaleTime) + ")"
	}
	p.Fields("  ", "Last change", last, "Now", s.Message)
	for _, part := range []struct {
		name string
		of   []v1alpha1.AutoscalingCause
	}{{"POD WITHOUT A NODE", s.PendingPods}, {"NODE", s.Nodes}} {
		rows := [][]string{{part.name, "WHY"}}
		for _, c := range part.of {
			rows = append(rows, []string{c.Name, c.Message})
		}
		if len(rows) > 1 {
			p.Table(rows)
		}
	}
}
