package nodes

import (
	"context"
	"fmt"
	"slices"
	"time"

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

// scaleTries is how often a pool is read again when another caller changes it at the same time.
const scaleTries = 5

// scaling is one run of `nodepool scale`.
type scaling struct {
	env     *connection.Env
	nodes   int32
	remove  []string
	wait    bool
	timeout time.Duration
}

// newScaleCommand returns `nodepool scale`.
func newScaleCommand(e *connection.Env) *cobra.Command {
	s := &scaling{env: e}
	cmd := &cobra.Command{
		Use:   "scale NAME",
		Short: "Scale a nodepool",
		Long: `Scale a nodepool.

Pods leave a node before it is removed; what is only on the node itself is lost,
volumes on its disk among it. With --remove these nodes are removed before
others; without --nodes, only these.`,
		Example: `  kqueen nodepool scale demo --nodes 3 --wait
  kqueen nodepool scale demo --remove demo-x7k2f
  kqueen nodepool scale demo --nodes 1 --remove demo-x7k2f`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.NodePool, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("nodes") && len(s.remove) == 0 {
				return exit.UsageError(cmd, "give the number of nodes with --nodes, or the nodes to remove with --remove")
			}
			if err := kinds.CheckNodes(cmd, "nodes", s.nodes); err != nil {
				return err
			}
			if i := slices.IndexFunc(s.remove, func(name string) bool { return name == "" }); i >= 0 {
				return exit.UsageError(cmd, "--remove: a name is empty")
			}
			return s.run(cmd.Context(), args[0], cmd.Flags().Changed("nodes"))
		},
	}
	cmd.Flags().Int32Var(&s.nodes, "nodes", 0, "desired number of nodes (default with --remove: as many fewer as are removed)")
	cmd.Flags().StringSliceVar(&s.remove, "remove", nil, "node to remove before others; may be repeated")
	cmd.Flags().BoolVar(&s.wait, "wait", false, "wait until all its nodes are ready and the others are gone")
	command.RegisterTimeout(cmd, &s.timeout)
	_ = cmd.RegisterFlagCompletionFunc("nodes", command.NoCompletion)
	_ = cmd.RegisterFlagCompletionFunc("remove", completeMachinesOf(e))
	return cmd
}

// completeMachinesOf completes the nodes of the pool that the command line names.
func completeMachinesOf(e *connection.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ofPool := func(object client.Object) bool { return object.GetLabels()[v1alpha1.LabelNodePool] == args[0] }
		return kinds.NamesOf(cmd, e, kinds.Machine, begun, ofPool), cobra.ShellCompDirectiveNoFileComp
	}
}

func (s *scaling) run(ctx context.Context, name string, sized bool) error {
	c, err := s.env.Connect()
	if err != nil {
		return err
	}
	pool, err := findPool(ctx, s.env, c, name)
	if err != nil {
		return err
	}
	machines, err := s.machines(ctx, c, name)
	if err != nil {
		return err
	}
	target, err := scaleTarget(pool, s.nodes, sized, len(machines))
	if err != nil {
		return err
	}
	begun := time.Now()
	// The marks come first: a pool that is made smaller takes its pick at once.
	for _, machine := range machines {
		if err := markFirst(ctx, c, machine); err != nil {
			return err
		}
	}
	if err := s.resize(ctx, c, pool, target); err != nil {
		return err
	}
	if pool.Spec.Autoscaling != nil {
		s.env.Say("nodepool %s is scaled by the need of pods, from %s: KQueen changes its size again when they need another", pool.Name, kinds.Bounds(pool))
	}
	if !s.wait {
		s.env.Say("wait for it with: %s", s.env.Command("nodepool wait "+name))
		return nil
	}
	return s.await(ctx, c, pool, begun)
}

// machines returns those that shall be removed. All have to be in the pool, and to stay in it otherwise.
func (s *scaling) machines(ctx context.Context, c *objects.Client, pool string) ([]*v1alpha1.Machine, error) {
	slices.Sort(s.remove)
	s.remove = slices.Compact(s.remove)
	var machines []*v1alpha1.Machine
	for _, name := range s.remove {
		machine, err := findMachine(ctx, s.env, c, name)
		if err != nil {
			return nil, err
		}
		if owner := machine.Labels[v1alpha1.LabelNodePool]; owner != pool {
			return nil, exit.Fail(exit.Failed, "--remove: node %s is not in nodepool %s but in %q; see: %s", name, pool, owner, s.env.Command("node list"))
		}
		if machine.DeletionTimestamp != nil {
			return nil, exit.Fail(exit.Failed, "--remove: node %s is being removed already, and does not count any more", name)
		}
		machines = append(machines, machine)
	}
	return machines, nil
}

// scaleTarget is how many nodes a pool shall have. When the user names nodes to remove, so many go that all
// of them do.
func scaleTarget(pool *v1alpha1.NodePool, wanted int32, sized bool, removed int) (int32, error) {
	left := int(pool.Spec.Replicas) - removed
	switch {
	case left < 0:
		return 0, exit.Fail(exit.Failed, "nodepool %s has a desired size of %s, which is fewer than the %d to remove; it may still be creating or removing others",
			pool.Name, kinds.Nodes(pool.Spec.Replicas), removed)
	case !sized:
		return int32(left), nil
	case removed > 0 && int(wanted) > left:
		return 0, exit.Fail(exit.Usage, "--nodes %d with %d to remove: nodepool %s has a desired size of %s, so that at most %d are left; to get new ones in their place, use: kqueen node replace",
			wanted, removed, pool.Name, kinds.Nodes(pool.Spec.Replicas), left)
	}
	return wanted, nil
}

// markFirst asks that scaling down takes this machine before others.
func markFirst(ctx context.Context, c *objects.Client, machine *v1alpha1.Machine) error {
	mark := objects.Patch{Annotations: map[string]any{v1alpha1.AnnotationDeleteFirst: "true"}}
	if err := c.Update(ctx, machine, mark, "", false); err != nil {
		return fmt.Errorf("mark node %s to be removed first: %w", machine.Name, err)
	}
	return nil
}

// resize sets how many nodes a pool shall have. What was computed from its size is only done to a pool that
// still has this size: two users who remove one node each must not end with one removed.
func (s *scaling) resize(ctx context.Context, c *objects.Client, pool *v1alpha1.NodePool, target int32) error {
	from := pool.Spec.Replicas
	if from == target {
		s.env.Say("nodepool %s has a desired size of %s already", pool.Name, kinds.Nodes(target))
		return nil
	}
	for try := 1; ; try++ {
		err := c.Update(ctx, pool, objects.Patch{Spec: map[string]any{"replicas": target}}, pool.ResourceVersion, false)
		if err == nil {
			s.env.Say("nodepool %s goes from %d to %s", pool.Name, from, kinds.Nodes(target))
			return nil
		}
		if !objects.IsConflict(err) || try == scaleTries {
			return fmt.Errorf("scale nodepool %s: %w", pool.Name, err)
		}
		// Statuses change all the time; only another size matters.
		uid := pool.UID
		if pool, err = findPool(ctx, s.env, c, pool.Name); err != nil {
			return err
		}
		if pool.Spec.Replicas != from || pool.UID != uid {
			return exit.Fail(exit.Failed, "another caller scaled nodepool %s to %s just now; look at it, and try again", pool.Name, kinds.Nodes(pool.Spec.Replicas))
		}
	}
}

// await waits until the pool is as wanted, and then until the nodes are gone that it has no more use for.
func (s *scaling) await(ctx context.Context, c *objects.Client, pool *v1alpha1.NodePool, begun time.Time) error {
	goal := verbs.Waiting{Kind: kinds.NodePool, Name: pool.Name, Uid: pool.UID, Goal: v1alpha1.ConditionReady, Work: "scaling", Timeout: s.timeout, Since: begun}
	if err := verbs.Await(ctx, s.env, c, goal); err != nil {
		return err
	}
	machines, err := kinds.Fetch(ctx, c, machinesOf(s.env, pool.Name))
	if err != nil {
		return err
	}
	leaving := slices.DeleteFunc(machines, func(machine client.Object) bool { return machine.GetDeletionTimestamp() == nil })
	return verbs.AwaitGone(ctx, s.env, c, leaving, s.timeout, begun)
}
