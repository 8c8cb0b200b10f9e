package kube

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podsAtOnce is how many pods of a node are looked at in one step. Upstream allows 110 on a node; a node
// that claims more is emptied in several steps.
const podsAtOnce = 500

// Blocked is a pod that is still on a node that is being drained, and why.
type Blocked struct {
	Namespace, Name string
	// Why is for the user to read and the same from try to try: a refusal in the API server's words, or that the pod is ending.
	Why string
	// Leaving says that the pod was asked to leave and nothing but its own end is waited for.
	Leaving bool
}

// String is the pod and why it is there.
func (b Blocked) String() string { return b.Namespace + "/" + b.Name + " " + b.Why }

// Cordon keeps new pods from a node. It writes nothing when the node is cordoned.
func Cordon(ctx context.Context, c client.Client, node *corev1.Node) error {
	if node.Spec.Unschedulable {
		return nil
	}
	cordoned := node.DeepCopy()
	cordoned.Spec.Unschedulable = true
	if err := c.Patch(ctx, cordoned, client.MergeFrom(node)); err != nil {
		return fmt.Errorf("cordon the node: %w", err)
	}
	return nil
}

// Drain does one step of emptying a node and does not wait: it asks every pod that can leave to do so, by the
// Eviction API, so that PodDisruptionBudgets are honoured, and returns the pods that are still there. Call it
// again until there are none. Pods of DaemonSets, mirror pods and finished pods stay; pods that no controller
// makes anew leave like the others, because their machine goes away. c must not read through a cache.
func Drain(ctx context.Context, c client.Client, node string) ([]Blocked, error) {
	pods, err := podsOf(ctx, c, node)
	if err != nil {
		return nil, err
	}
	var left []Blocked
	for i := range pods {
		pod := &pods[i]
		blocked := Blocked{Namespace: pod.Namespace, Name: pod.Name, Why: "is ending", Leaving: true}
		switch departure(pod) {
		case stays:
			continue
		case leaves:
		case mustLeave:
			refusal, err := evict(ctx, c, pod)
			if err != nil {
				return nil, fmt.Errorf("evict pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			if refusal != "" {
				blocked.Why, blocked.Leaving = refusal, false
			}
		}
		left = append(left, blocked)
	}
	return left, nil
}

// Discard removes what a machine that is no more has left in its cluster: the pods of its node, without
// waiting for a kubelet to confirm their end, so that they begin elsewhere at once, and then the node.
// The machine must be gone for good: a pod that still runs there would run twice.
func Discard(ctx context.Context, c client.Client, node string) error {
	pods, err := podsOf(ctx, c, node)
	if err != nil {
		return err
	}
	for i := range pods {
		pod := &pods[i]
		now := &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0), Preconditions: &metav1.Preconditions{UID: &pod.UID}}
		if err := c.Delete(ctx, pod, now); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("delete pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
	}
	if err := client.IgnoreNotFound(c.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})); err != nil {
		return fmt.Errorf("delete the node: %w", err)
	}
	return nil
}

// podsOf returns the first pods of a node that are not finished.
func podsOf(ctx context.Context, c client.Reader, node string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	selector := fields.AndSelectors(
		fields.OneTermEqualSelector("spec.nodeName", node),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
	)
	if err := c.List(ctx, list, client.MatchingFieldsSelector{Selector: selector}, client.Limit(podsAtOnce)); err != nil {
		return nil, fmt.Errorf("list the pods of the node: %w", err)
	}
	return list.Items, nil
}

// fate is what draining means for a pod.
type fate int

const (
	stays     fate = iota // it goes with the machine
	leaves                // it was asked already
	mustLeave             // it is to be asked
)

// departure decides what draining means for a pod. It is pure.
func departure(pod *corev1.Pod) fate {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	owner := metav1.GetControllerOf(pod)
	finished := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	switch {
	case mirror, finished:
		return stays
	case owner != nil && owner.Kind == "DaemonSet" && strings.HasPrefix(owner.APIVersion, "apps/"):
		return stays
	case pod.DeletionTimestamp != nil:
		return leaves
	}
	return mustLeave
}

// evict asks a pod to leave and returns the API server's words when it refuses. An error means that it
// did not answer.
func evict(ctx context.Context, c client.Client, pod *corev1.Pod) (refusal string, err error) {
	// The name may have been taken meanwhile by a pod that runs elsewhere.
	eviction := &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
	}
	err = c.SubResource("eviction").Create(ctx, pod, eviction)
	var status apierrors.APIStatus
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return "", nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return "", nil // its namespace takes it along
	case !errors.As(err, &status):
		return "", err
	}
	if cause, ok := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause); ok {
		return "may not leave yet: " + cause.Message, nil
	}
	if apierrors.IsTooManyRequests(err) {
		return "may not leave yet", nil
	}
	return "cannot be evicted: " + status.Status().Message, nil
}
