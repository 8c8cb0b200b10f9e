package nodes

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/verbs"
)

// replacement is one run of `node replace`.
type replacement struct {
	env     *connection.Env
	wait    bool
	sure    bool
	timeout time.Duration
}

// newReplaceCommand returns `node replace`.
func newReplaceCommand(e *connection.Env) *cobra.Command {
	r := &replacement{env: e}
	cmd := &cobra.Command{
		Use:   "replace NAME",
		Short: "Remove a node; its nodepool creates another in its place",
		Long: `Remove a node; its nodepool creates another in its place.

Pods leave the node first; what is only on the node itself is lost, volumes on
its disk among it. You are asked first when there are such volumes, and when the
node is in no nodepool, so that nothing takes its place; without a terminal,
--yes is then required.`,
		Example:           "  kqueen node replace demo-x7k2f --wait",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Machine, 1),
		RunE:              r.run,
	}
	cmd.Flags().BoolVar(&r.wait, "wait", false, "wait until the node is gone and its nodepool is ready")
	cmd.Flags().BoolVarP(&r.sure, "yes", "y", false, "do not ask")
	command.RegisterTimeout(cmd, &r.timeout)
	return cmd
}

func (r *replacement) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	c, err := r.env.Connect()
	if err != nil {
		return err
	}
	machine, err := findMachine(ctx, r.env, c, args[0])
	if err != nil {
		return err
	}
	pool, err := poolOf(ctx, c, machine)
	if err != nil {
		return err
	}
	if pool == nil {
		r.env.Say("warning: node %s is in no nodepool, so that nothing takes its place", machine.Name)
	}
	if volumesLost(ctx, r.env, machine.Name) || pool == nil {
		if err := r.env.Confirmed(cmd, r.sure, "remove the node", fmt.Sprintf("Remove node %s?", machine.Name)); err != nil {
			return err
		}
	}
	begun := time.Now()
	if err := c.Delete(ctx, machine); err != nil {
		return fmt.Errorf("delete node %s: %w", machine.Name, err)
	}
	if pool != nil {
		r.env.Say("node %s is being removed; nodepool %s creates another", machine.Name, pool.Name)
	} else {
		r.env.Say("node %s is being removed", machine.Name)
	}
	if !r.wait {
		return nil
	}
	if err := verbs.AwaitGone(ctx, r.env, c, []client.Object{machine}, r.timeout, begun); err != nil || pool == nil {
		return err
	}
	return r.awaitOther(ctx, c, pool, begun)
}

// poolOf returns the pool that a machine is in, or nil when there is none that would make another.
func poolOf(ctx context.Context, c *objects.Client, machine *v1alpha1.Machine) (*v1alpha1.NodePool, error) {
	name := machine.Labels[v1alpha1.LabelNodePool]
	if name == "" {
		return nil, nil //nolint:nilnil // none is an answer
	}
	pool, err := objects.Named[*v1alpha1.NodePool](ctx, c, kinds.NodePool.Kind, name)
	if objects.IsNotFound(err) || (err == nil && pool.DeletionTimestamp != nil) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("get nodepool %s: %w", name, err)
	}
	return pool, nil
}

// awaitOther waits until the pool is ready and has as many ready nodes as it shall have. Its condition
// alone may still be of the time before the node went: a pool's spec does not change when a node goes.
func (r *replacement) awaitOther(ctx context.Context, c *objects.Client, pool *v1alpha1.NodePool, begun time.Time) error {
	goal := verbs.Waiting{Kind: kinds.NodePool, Name: pool.Name, Uid: pool.UID, Goal: v1alpha1.ConditionReady, Work: "replacement", Timeout: r.timeout, Since: begun, Quiet: true}
	goal.Also = func(ctx context.Context) (bool, error) {
		fresh, err := findPool(ctx, r.env, c, pool.Name)
		if err != nil {
			return false, err
		}
		machines, err := kinds.Fetch(ctx, c, machinesOf(r.env, pool.Name))
		if err != nil {
			return false, err
		}
		return countReady(machines) >= fresh.Spec.Replicas, nil
	}
	return verbs.Await(ctx, r.env, c, goal)
}

// countReady is how many machines are ready and stay.
func countReady(machines []client.Object) int32 {
	var count int32
	for _, machine := range machines {
		if machine.GetDeletionTimestamp() == nil && kinds.ReadyStatus(machine) == string(metav1.ConditionTrue) {
			count++
		}
	}
	return count
}
