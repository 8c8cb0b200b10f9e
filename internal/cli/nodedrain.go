package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
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
	env     *env
	force   bool
	timeout time.Duration
}

// newDrainCommand returns `node drain`.
func newDrainCommand(e *env) *cobra.Command {
	d := &draining{env: e}
	cmd := &cobra.Command{
		Use:   "drain NAME",
		Short: "Make a node's pods go elsewhere, and keep new ones away",
		Long: `Make a node's pods go elsewhere, and keep new ones away. The node stays.

PodDisruptionBudgets are honoured; what holds pods back is shown. Pods of
DaemonSets stay, and what is only on the node itself is lost. A pod that nobody
makes anew would be lost whole, so that --force is required for it.

"kqueen node uncordon" is the undo, also of a drain that was given up.`,
		Example: `  kqueen node drain demo-x7k2f --timeout 10m
  kqueen node uncordon demo-x7k2f`,
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(machineNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return d.run(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&d.force, "force", false, "also lose pods that nobody makes anew")
	registerTimeout(cmd, &d.timeout)
	return cmd
}

// newUncordonCommand returns `node uncordon`.
func newUncordonCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:               "uncordon NAME",
		Short:             "Let pods come to a node again that was drained",
		Example:           "  kqueen node uncordon demo-x7k2f",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(machineNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return e.uncordon(cmd.Context(), args[0])
		},
	}
}

func (d *draining) run(parent context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(parent, d.timeout, errTimedOut)
	defer cancel()
	c, node, err := d.env.reachNode(ctx, name)
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
	last, err := d.empty(ctx, c, name, d.env.newProgress(start))
	if err == nil {
		d.env.say("node %s is drained after %s", name, seconds(time.Since(start)))
	}
	d.env.say("new pods stay away from it until: %s", d.env.command("node uncordon "+name))
	if err != nil && errors.Is(context.Cause(ctx), errTimedOut) {
		return fail(codeTimedOut, "timed out after %s draining node %s: %s", duration.HumanDuration(d.timeout), name, last)
	}
	if err != nil {
		return fmt.Errorf("drain node %s: %w", name, err)
	}
	return nil
}

// empty asks pods to leave until none is left. When it has to give up, it returns what was last waited for.
func (d *draining) empty(ctx context.Context, c client.Client, name string, shown *progress) (string, error) {
	last := "its cluster did not answer in time"
	again := time.NewTicker(drainEvery)
	defer again.Stop()
	for {
		left, err := kube.Drain(ctx, c, name)
		pods := step{name: "Pods"}
		switch {
		case err == nil && len(left) == 0:
			pods.state = stepDone
		case err == nil:
			last = podsLeft(left)
		case !passing(err):
			return last, err
		case ctx.Err() == nil: // else it says nothing of the cluster
			last = "its cluster does not answer: " + cleanLine(err.Error())
		}
		if pods.state != stepDone {
			pods.message = last
		}
		shown.update([]step{{name: "Cordoned", state: stepDone}, pods}, time.Now())
		if pods.state == stepDone {
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
			ending = append(ending, cleanLine(pod.String()))
			continue
		}
		held = append(held, cleanLine(pod.String()))
	}
	all := slices.Concat(held, ending)
	text, more := fmt.Sprintf("%d left", len(all)), ""
	if len(all) > shownPods {
		more = fmt.Sprintf("; and %d more", len(all)-shownPods)
		all = all[:shownPods]
	}
	return text + ": " + strings.Join(all, "; ") + more
}

// checkLosses refuses to drain pods that nobody makes anew, unless the user insists.
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
		return fail(codeError, "node %s has more than %d pods, which are too many to look at; drain it unseen with --force", name, mostPods)
	}
	if lost := unowned(pods.Items); len(lost) > 0 {
		return fail(codeError, "nobody makes these pods anew: %s; delete or move them, or lose them with --force", list(lost[:min(len(lost), shownPods)]))
	}
	return nil
}

// unowned returns the names of pods that nobody makes anew. Mirrors of files on the node and pods that are
// finished or going do not count.
func unowned(pods []corev1.Pod) []string {
	var lost []string
	for _, pod := range pods {
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if metav1.GetControllerOf(&pod) == nil && !mirror && !finished && pod.DeletionTimestamp == nil {
			lost = append(lost, cleanLine(pod.Namespace+"/"+pod.Name))
		}
	}
	return lost
}

func (e *env) uncordon(parent context.Context, name string) error {
	ctx, cancel := context.WithTimeout(parent, kube.CallDeadline)
	defer cancel()
	c, node, err := e.reachNode(ctx, name)
	if err != nil {
		return err
	}
	if !node.Spec.Unschedulable {
		e.say("node %s takes pods already", name)
		return nil
	}
	before := node.DeepCopy()
	node.Spec.Unschedulable = false
	if err := c.Patch(ctx, node, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("uncordon node %s: %w", name, err)
	}
	e.say("node %s takes pods again", name)
	return nil
}

// reachNode returns a node as its own cluster has it, and a client of that cluster.
func (e *env) reachNode(ctx context.Context, name string) (client.Client, *corev1.Node, error) {
	plane, err := e.connect()
	if err != nil {
		return nil, nil, err
	}
	machine, err := e.findMachine(ctx, plane, name)
	if err != nil {
		return nil, nil, err
	}
	if machine.DeletionTimestamp != nil {
		return nil, nil, fail(codeError, "node %s is being removed, which drains it; see: %s", name, e.command("node describe "+name))
	}
	data, err := e.enter(ctx, plane, machine.Spec.ClusterName)
	if err != nil {
		return nil, nil, err
	}
	c, err := connectCluster(data)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to cluster %s: %w", machine.Spec.ClusterName, err)
	}
	node := &corev1.Node{}
	err = c.Get(ctx, client.ObjectKey{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return nil, nil, fail(codeNotFound, "node %s is not in cluster %s: %s", name, machine.Spec.ClusterName, absence(machine))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("get node %s of cluster %s: %w", name, machine.Spec.ClusterName, err)
	}
	return c, node, nil
}

// enter returns a kubeconfig of a cluster: of the user who came through the door, and the administrator's for the owner
// of the machine.
func (e *env) enter(ctx context.Context, plane client.Client, cluster string) ([]byte, error) {
	through, err := e.throughDoor()
	if err != nil {
		return nil, err
	}
	if through {
		return e.ownAccess(ctx, cluster)
	}
	return e.clusterKubeconfig(ctx, plane, cluster)
}

// absence says why a machine has no node, as far as it is known.
func absence(machine *v1alpha1.Machine) string {
	if message := cleanLine(readyMessage(machine)); message != "" {
		return message
	}
	return "KQueen has not looked at it yet"
}

// connectCluster returns a client of a cluster. Its kubeconfig may come from elsewhere, so that one that starts
// programs or reads files is refused. No watch is made with the client: each call has a deadline.
func connectCluster(data []byte) (client.Client, error) {
	theirs, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("read its kubeconfig: %w", err)
	}
	for _, cluster := range theirs.Clusters {
		for _, user := range theirs.AuthInfos {
			if err := checkHarmless(cluster, user); err != nil {
				return nil, fmt.Errorf("its kubeconfig cannot be used: %w", err)
			}
		}
	}
	config, err := clientcmd.NewDefaultClientConfig(*theirs, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read its kubeconfig: %w", err)
	}
	config.UserAgent, config.Timeout = "kqueen/"+programVersion(), kube.CallDeadline
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	if err := policyv1.AddToScheme(scheme); err != nil { // draining writes evictions
		return nil, fmt.Errorf("register kinds: %w", err)
	}
	return kube.Connect(config, scheme)
}
