package nodes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/progress"
	"kqueen.io/kqueen/internal/cli/verbs"
	"kqueen.io/kqueen/internal/platform/kube"
)

const (
	// drainEvery is the pause before pods that could not leave are asked again.
	drainEvery = time.Second
	// mostPods is how many pods of a node are looked at. Upstream allows 110.
	mostPods = 1000
	// shownPods is how many pods a message names at most.
	shownPods = 5
)

// draining is one run of `node drain`.
type draining struct {
	env     *connection.Env
	force   bool
	timeout time.Duration
}

// newDrainCommand returns `node drain`.
func newDrainCommand(e *connection.Env) *cobra.Command {
	d := &draining{env: e}
	cmd := &cobra.Command{
		Use:   "drain NAME",
		Short: "Evict a node's pods, and keep new ones away",
		Long: `Evict a node's pods, and keep new ones away. The node stays.

PodDisruptionBudgets are honoured; what holds pods back is shown. Pods of
DaemonSets stay, and what is only on the node itself is lost. A pod that no
controller recreates would be lost, so that --force is required for it.

"kqueen node uncordon" undoes it, also after an interrupted drain.`,
		Example: `  kqueen node drain demo-x7k2f --timeout 10m
  kqueen node uncordon demo-x7k2f`,
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Machine, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&d.force, "force", false, "also evict pods that no controller recreates")
	command.RegisterTimeout(cmd, &d.timeout)
	return cmd
}

// newUncordonCommand returns `node uncordon`.
func newUncordonCommand(e *connection.Env) *cobra.Command {
	return &cobra.Command{
		Use:               "uncordon NAME",
		Short:             "Let pods be scheduled on a drained node again",
		Example:           "  kqueen node uncordon demo-x7k2f",
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, kinds.Machine, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return uncordon(cmd.Context(), e, args[0])
		},
	}
}

func (d *draining) run(parent context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(parent, d.timeout, exit.ErrTimedOut)
	defer cancel()
	c, node, err := reachNode(ctx, d.env, name)
	if err != nil {
		return err
	}
	if err := d.checkLosses(ctx, c, name); err != nil {
		return err
	}
	if err := kube.Cordon(ctx, c, node); err != nil {
		return fmt.Errorf("node %s: %w", name, err)
	}
	start := time.Now()
	last, err := d.empty(ctx, c, name, progress.NewDisplay(d.env.Stderr, start))
	if err == nil {
		d.env.Say("node %s is drained after %s", name, progress.Seconds(time.Since(start)))
	}
	d.env.Say("new pods stay away from it until: %s", d.env.Command("node uncordon "+name))
	if err != nil && errors.Is(context.Cause(ctx), exit.ErrTimedOut) {
		return exit.Fail(exit.TimedOut, "timed out after %s draining node %s: %s", duration.HumanDuration(d.timeout), name, last)
	}
	if err != nil {
		return fmt.Errorf("drain node %s: %w", name, err)
	}
	return nil
}

// empty asks pods to leave until none is left. When it has to give up, it returns what was last waited for.
func (d *draining) empty(ctx context.Context, c client.Client, name string, shown *progress.Display) (string, error) {
	last := "its cluster did not answer in time"
	again := time.NewTicker(drainEvery)
	defer again.Stop()
	for {
		left, err := kube.Drain(ctx, c, name)
		pods := progress.Step{Name: "Pods"}
		switch {
		case err == nil && len(left) == 0:
			pods.State = progress.StepDone
		case err == nil:
			last = podsLeft(left)
		case !verbs.Passing(err):
			return last, err
		case ctx.Err() == nil: // else it says nothing of the cluster
			last = "its cluster does not answer: " + console.CleanLine(err.Error())
		}
		if pods.State != progress.StepDone {
			pods.Message = last
		}
		shown.Update([]progress.Step{{Name: "Cordoned", State: progress.StepDone}, pods}, time.Now())
		if pods.State == progress.StepDone {
			return "", nil
		}
		select {
		case <-ctx.Done():
			return last, context.Cause(ctx)
		case <-again.C:
		}
	}
}

// podsLeft says which pods are still on a node, those first that are held back.
func podsLeft(left []kube.Blocked) string {
	var held, ending []string
	for _, pod := range left {
		if pod.Leaving {
			ending = append(ending, console.CleanLine(pod.String()))
			continue
		}
		held = append(held, console.CleanLine(pod.String()))
	}
	all := slices.Concat(held, ending)
	text, more := fmt.Sprintf("%d left", len(all)), ""
	if len(all) > shownPods {
		more = fmt.Sprintf("; and %d more", len(all)-shownPods)
		all = all[:shownPods]
	}
	return text + ": " + strings.Join(all, "; ") + more
}

// checkLosses refuses to drain pods that no controller makes anew, unless the user insists.
func (d *draining) checkLosses(ctx context.Context, c client.Client, name string) error {
	if d.force {
		return nil
	}
	pods := &corev1.PodList{}
	ofNode := client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("spec.nodeName", name)}
	if err := c.List(ctx, pods, ofNode, client.Limit(mostPods)); err != nil {
		return fmt.Errorf("list the pods of node %s: %w", name, err)
	}
	if pods.Continue != "" {
		return exit.Fail(exit.Failed, "node %s has more than %d pods, which are too many to look at; drain it without that check with --force", name, mostPods)
	}
	if lost := unowned(pods.Items); len(lost) > 0 {
		return exit.Fail(exit.Failed, "no controller recreates these pods: %s; delete or move them, or lose them with --force", console.List(lost[:min(len(lost), shownPods)]))
	}
	return nil
}

// unowned returns the names of pods that no controller makes anew. Mirrors of files on the node and pods that are
// finished or going do not count.
func unowned(pods []corev1.Pod) []string {
	var lost []string
	for _, pod := range pods {
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if metav1.GetControllerOf(&pod) == nil && !mirror && !finished && pod.DeletionTimestamp == nil {
			lost = append(lost, console.CleanLine(pod.Namespace+"/"+pod.Name))
		}
	}
	return lost
}

func uncordon(parent context.Context, e *connection.Env, name string) error {
	ctx, cancel := context.WithTimeout(parent, kube.CallDeadline)
	defer cancel()
	c, node, err := reachNode(ctx, e, name)
	if err != nil {
		return err
	}
	if !node.Spec.Unschedulable {
		e.Say("node %s is schedulable already", name)
		return nil
	}
	before := node.DeepCopy()
	node.Spec.Unschedulable = false
	if err := c.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("uncordon node %s: %w", name, err)
	}
	e.Say("node %s is schedulable again", name)
	return nil
}

// reachNode returns a node as its own cluster has it, and a client of that cluster.
func reachNode(ctx context.Context, e *connection.Env, name string) (client.Client, *corev1.Node, error) {
	plane, err := e.Connect()
	if err != nil {
		return nil, nil, err
	}
	machine, err := findMachine(ctx, e, plane, name)
	if err != nil {
		return nil, nil, err
	}
	if machine.DeletionTimestamp != nil {
		return nil, nil, exit.Fail(exit.Failed, "node %s is being removed, which drains it; see: %s", name, e.Command("node describe "+name))
	}
	data, err := clusteraccess.Enter(ctx, e, machine.Spec.ClusterName)
	if err != nil {
		return nil, nil, err
	}
	c, err := clusteraccess.Connect(data)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to cluster %s: %w", machine.Spec.ClusterName, err)
	}
	node := &corev1.Node{}
	err = c.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil, nil, exit.Fail(exit.NotFound, "node %s is not in cluster %s: %s", name, machine.Spec.ClusterName, absence(machine))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get node %s of cluster %s: %w", name, machine.Spec.ClusterName, err)
	}
	return c, node, nil
}

// absence says why a machine has no node, as far as it is known.
func absence(machine *v1alpha1.Machine) string {
	if message := console.CleanLine(kinds.ReadyMessage(machine)); message != "" {
		return message
	}
	return "KQueen has not looked at it yet"
}
