package machinecontroller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/operator"
)

// namedPods is how many of the pods that are left a condition names.
const namedPods = 3

// drain empties the node before its machine goes. It ends when no pod is left that can leave, and also:
//
//   - at once when the cluster is gone or going, or there is no node;
//   - after spec.drain.timeoutSeconds, with what is left, also when the API server has not answered until then;
//   - when the node has been unready for deadAfter: its pods have been asked to leave once, and no kubelet
//     could confirm that they did. They are taken from the node when its machine is gone, see kube.Discard,
//     and run elsewhere.
func (r *reconciler) drain(ctx context.Context, m *v1alpha1.Machine) operator.Outcome {
	cluster, err := r.staying(ctx, m)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonDraining, err)
	}
	if cluster == nil {
		return operator.Done(v1alpha1.ReasonDrained, "not drained: its cluster is gone, or goes with all that is in it")
	}
	if m.Status.DrainStartTime == nil {
		now := metav1.NewTime(r.Now().Truncate(time.Second))
		m.Status.DrainStartTime = &now
	}
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	node, left, err := r.evict(ctx, cluster, m)
	switch {
	case err != nil && r.givenUp(m):
		return operator.Done(v1alpha1.ReasonDrainTimedOut, "removed without draining: "+unreachable(cluster, err).Error())
	case err != nil:
		return operator.Retry(v1alpha1.ReasonDraining, unreachable(cluster, err))
	case node == nil:
		return operator.Done(v1alpha1.ReasonDrained, "there is no node of this machine")
	}
	return r.judgeDrain(m, node, left)
}

// evict does one step of emptying the node. It returns no node when there is none of this machine.
func (r *reconciler) evict(ctx context.Context, cluster *v1alpha1.Cluster, m *v1alpha1.Machine) (*corev1.Node, []kube.Blocked, error) {
	c, err := r.Clusters.Client(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	node, err := nodeOf(ctx, c, m.Name)
	if err != nil || node == nil || foreign(node, m) {
		return nil, nil, err
	}
	if err := kube.Cordon(ctx, c, node); err != nil {
		return nil, nil, err
	}
	left, err := kube.Drain(ctx, c, m.Name)
	return node, left, err
}

// judgeDrain says what the pods that are left mean.
func (r *reconciler) judgeDrain(m *v1alpha1.Machine, node *corev1.Node, left []kube.Blocked) operator.Outcome {
	switch {
	case len(left) == 0:
		return operator.Done(v1alpha1.ReasonDrained, "no pod that can leave is on the node")
	case r.drainOver(m):
		return operator.Done(v1alpha1.ReasonDrainTimedOut, "spec.drain.timeoutSeconds have passed; removed with "+nameLeft(left))
	case dead(node, r.Now()):
		return operator.Done(v1alpha1.ReasonDrained, "the node does not answer any more; its pods begin elsewhere when the machine is gone: "+nameLeft(left))
	}
	return operator.Wait(v1alpha1.ReasonDraining, "waiting for "+nameLeft(left), drainLook)
}

// drainOver says whether the time for draining has passed. A timeout of 0 never does.
func (r *reconciler) drainOver(m *v1alpha1.Machine) bool {
	drain := m.Spec.Drain
	drain.Default()
	timeout := drain.Timeout()
	return timeout > 0 && m.Status.DrainStartTime != nil && r.Now().Sub(m.Status.DrainStartTime.Time) >= timeout
}

// givenUp says whether a cluster that cannot be asked has been waited for long enough: as long as draining may
// take, or for a short time when the node never was ready, so that nothing of worth can be on it.
func (r *reconciler) givenUp(m *v1alpha1.Machine) bool {
	short := m.Status.JoinTime == nil && m.Status.DrainStartTime != nil && r.Now().Sub(m.Status.DrainStartTime.Time) >= unjoinedPatience
	return short || r.drainOver(m)
}

// dead says whether a node has been unready for so long that its kubelet will not confirm anything. It is pure.
func dead(node *corev1.Node, now time.Time) bool {
	c := readyCondition(node)
	if c == nil {
		return now.Sub(node.CreationTimestamp.Time) >= deadAfter
	}
	return c.Status != corev1.ConditionTrue && now.Sub(c.LastTransitionTime.Time) >= deadAfter
}

// nameLeft says which pods are left: those first about which a user may have to do something. It is pure.
func nameLeft(left []kube.Blocked) string {
	var named []string
	for _, leaving := range []bool{false, true} {
		for _, b := range left {
			if b.Leaving == leaving && len(named) < namedPods {
				named = append(named, tidy(b.String(), longestWords/namedPods))
			}
		}
	}
	pods := "pods"
	if len(left) == 1 {
		pods = "pod"
	}
	text := fmt.Sprintf("%d %s: %s", len(left), pods, strings.Join(named, "; "))
	if more := len(left) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// forget removes what the machine had in its cluster, and then what it joined with. The machine is gone by
// now. A cluster that cannot be asked is waited for until it is given up: a node without a machine
// is not wrong for long, because a machine of the same name displaces it.
func (r *reconciler) forget(ctx context.Context, m *v1alpha1.Machine) operator.Outcome {
	have, err := r.joiningOf(ctx, m)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonMachineRemaining, err)
	}
	cluster, err := r.staying(ctx, m)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonMachineRemaining, err)
	}
	if cluster != nil {
		err := r.erase(ctx, cluster, m, have)
		if err != nil && !r.givenUp(m) {
			return operator.Retry(v1alpha1.ReasonMachineRemaining, errors.New("remove the node: "+unreachable(cluster, err).Error()))
		}
	}
	if have == nil {
		return operator.Done(v1alpha1.ReasonIdle, "")
	}
	if err := r.Client.Delete(ctx, have.secret); err != nil {
		return operator.Retry(v1alpha1.ReasonMachineRemaining, fmt.Errorf("delete Secret %s: %w", have.secret.Name, err))
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// erase removes the token, so that no machine can join in its name any more, the node with its pods, and the
// requests for certificates.
func (r *reconciler) erase(ctx context.Context, cluster *v1alpha1.Cluster, m *v1alpha1.Machine, have *joining) error {
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	c, err := r.Clusters.Client(ctx, cluster)
	if err != nil {
		return err
	}
	token := ""
	if have != nil {
		token = have.id
	}
	if err := dropToken(ctx, c, token); err != nil {
		return err
	}
	node, err := nodeOf(ctx, c, m.Name)
	if err != nil {
		return err
	}
	if node != nil && !foreign(node, m) {
		if err := kube.Discard(ctx, c, m.Name); err != nil {
			return err
		}
	}
	return dropRequests(ctx, c, m.Name, token)
}
