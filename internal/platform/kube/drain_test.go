package kube

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestDeparture(t *testing.T) {
	controlled := func(apiVersion, kind string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "x", Controller: ptr.To(true)}}
		}
	}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = ptr.To(metav1.Now()) }
	tests := map[string]struct {
		reason string
		change []func(*corev1.Pod)
		want   fate
	}{
		"Alone":             {"A pod that no controller creates anew leaves too: its machine goes.", nil, mustLeave},
		"Pending":           {"A pod that does not run yet leaves.", []func(*corev1.Pod){phase(corev1.PodPending)}, mustLeave},
		"ReplicaSet":        {"A pod that is made anew leaves.", []func(*corev1.Pod){controlled("apps/v1", "ReplicaSet")}, mustLeave},
		"DaemonSet":         {"A DaemonSet's pod would come back.", []func(*corev1.Pod){controlled("apps/v1", "DaemonSet")}, stays},
		"DaemonSetOfOthers": {"A kind of another group that is called so is none.", []func(*corev1.Pod){controlled("example.org/v1", "DaemonSet")}, mustLeave},
		"OwnedNotControlled": {"An owner that is no controller makes nothing anew.", []func(*corev1.Pod){controlled("apps/v1", "DaemonSet"), func(p *corev1.Pod) {
			p.OwnerReferences[0].Controller = nil
		}}, mustLeave},
		"Mirror": {"A mirror pod is only the picture of a file on the node.", []func(*corev1.Pod){func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
		}}, stays},
		"Succeeded":       {"A finished pod holds nothing.", []func(*corev1.Pod){phase(corev1.PodSucceeded)}, stays},
		"Failed":          {"A finished pod holds nothing.", []func(*corev1.Pod){phase(corev1.PodFailed)}, stays},
		"Ending":          {"A pod that was asked is waited for.", []func(*corev1.Pod){deleted}, leaves},
		"EndingDaemonSet": {"A drain does not wait for a DaemonSet's pod.", []func(*corev1.Pod){deleted, controlled("apps/v1", "DaemonSet")}, stays},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}
			for _, change := range tc.change {
				change(pod)
			}
			if got := departure(pod); got != tc.want {
				t.Errorf("%s\ngot %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// answering is a cluster whose API server answers evictions with one error. The real one is asked in
// internal/workers/machinecontroller.
type answering struct {
	client.Client
	err error
}

type evictions struct {
	client.SubResourceClient
	err error
}

func (a answering) SubResource(string) client.SubResourceClient { return evictions{err: a.err} }

func (e evictions) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return e.err
}

func TestEvict(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	budget := apierrors.NewTooManyRequests("cannot evict", 10)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "the budget web needs 1 healthy pod"}}
	leaving := apierrors.NewForbidden(pods, "x", nil)
	leaving.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	tests := map[string]struct {
		answer  error
		refusal string
		failed  bool
	}{
		"Taken":     {answer: nil},
		"Gone":      {answer: apierrors.NewNotFound(pods, "x")},
		"Another":   {answer: apierrors.NewConflict(pods, "x", nil)},
		"Namespace": {answer: leaving},
		"Budget":    {answer: budget, refusal: "may not leave yet: the budget web needs 1 healthy pod"},
		"Busy":      {answer: apierrors.NewTooManyRequests("later", 1), refusal: "may not leave yet"},
		"TwoBudgets": {
			answer:  &apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Reason: metav1.StatusReasonInternalError, Message: "more than one budget"}},
			refusal: "cannot be evicted: more than one budget",
		},
		"NoAnswer": {answer: context.DeadlineExceeded, failed: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			refusal, err := evict(t.Context(), answering{err: tc.answer}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x"}})
			if diff := cmp.Diff(tc.refusal, refusal); diff != "" || (err != nil) != tc.failed {
				t.Errorf("(-want +got):\n%s error %v", diff, err)
			}
		})
	}
}

func TestBlockedSaysWhichAndWhy(t *testing.T) {
	if got := (Blocked{Namespace: "n", Name: "p", Why: "is ending"}).String(); got != "n/p is ending" {
		t.Errorf("got %q", got)
	}
}
