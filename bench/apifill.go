package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

const (
	// otherOrganizations is how many there are beside the one that is measured.
	otherOrganizations = 1000
	// hold keeps an object that is deleted, and belongs to no reconciler: KQueen's reconcilers leave alone what is being deleted
	// and does not have their own finalizer. So thousands of clusters cost nothing but their place.
	hold = "bench.kqueen.io/hold"
	// olderVersion is what some clusters run.
	olderVersion = "v1.35.0"
	// fillers is how many objects are made at once.
	fillers = 16
	// idleLook is how long idle processor time is measured.
	idleLook = 10 * time.Second
)

// quietly makes something while kqueen does not run, which would begin to work on it. The API server does not ask it whether objects may
// be made, either, and it says again that it wants to be asked when it starts.
func (i *installation) quietly(ctx context.Context, make func() error) error {
	if err := i.halt(ctx); err != nil {
		return err
	}
	hook := &unstructured.Unstructured{}
	hook.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"})
	hook.SetName("kqueen")
	if err := i.admin.Delete(ctx, hook); err != nil {
		return fmt.Errorf("remove the admission webhook: %w", err)
	}
	if err := make(); err != nil {
		return err
	}
	return i.kqueen(ctx, "up")
}

// fill creates clusters that look like healthy ones.
func fill(ctx context.Context, inst *installation, namespace string, count int) error {
	var group errgroup.Group
	group.SetLimit(fillers)
	for n := range count {
		group.Go(func() error { return held(ctx, inst, clusterLike(namespace, n, inst.version())) })
	}
	return group.Wait()
}

// fillOthers makes organizations of ten members each, with two clusters each or so many that there are count in all.
func fillOthers(ctx context.Context, inst *installation, count int) error {
	var group errgroup.Group
	group.SetLimit(fillers)
	for n := range otherOrganizations {
		group.Go(func() error {
			o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("other-%04d", n), Finalizers: []string{hold}}}
			for i := range 10 {
				o.Spec.Members = append(o.Spec.Members, v1alpha1.Member{User: fmt.Sprintf("user-%d-%d", n, i), Role: v1alpha1.RoleViewer})
			}
			// As a reconciler would have left it: kqueen is ready when all are looked at. Deleting counts as a change.
			o.Status.ObservedGeneration = 2
			o.Status.Conditions = []metav1.Condition{{
				Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, LastTransitionTime: metav1.Now(), Reason: v1alpha1.ReasonReady,
			}}
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.OwnedNamespace()}}
			if err := inst.admin.Create(ctx, ns); err != nil {
				return err
			}
			if err := held(ctx, inst, o); err != nil {
				return err
			}
			for i := range count / otherOrganizations {
				if err := held(ctx, inst, clusterLike(ns.Name, i, inst.version())); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return group.Wait()
}

// held makes an object with its status, and begins to delete it.
func held(ctx context.Context, inst *installation, o client.Object) error {
	full := o.DeepCopyObject().(client.Object)
	if err := inst.admin.Create(ctx, o); err != nil {
		return err
	}
	full.SetResourceVersion(o.GetResourceVersion())
	if err := inst.admin.Status().Update(ctx, full); err != nil {
		return err
	}
	if err := inst.admin.Delete(ctx, o); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// clusterLike is a cluster with the status of a healthy one.
func clusterLike(namespace string, n int, version string) *v1alpha1.Cluster {
	now := metav1.Now()
	c := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: nameOf(n), Finalizers: []string{hold},
		Labels: map[string]string{"env": []string{"production", "staging", "test"}[n%3], "team": fmt.Sprintf("team-%d", n%20)},
	}}
	c.Spec.Version = version
	c.Status.Version, c.Status.Endpoint, c.Status.ObservedGeneration = version, fmt.Sprintf("https://192.0.2.1:%d", 20000+n), 1
	if n%4 == 0 { // so that there is something to filter by
		c.Status.Version = olderVersion
	}
	for _, kind := range []string{
		v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled, v1alpha1.ConditionAccepted,
		v1alpha1.ConditionProvisioned, v1alpha1.ConditionKubeconfigReady,
	} {
		c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: now, Reason: v1alpha1.ReasonReady,
			Message: "everything is as the spec wants it",
		})
	}
	for _, step := range []string{"Keys", "Keyspace", "API server", "Controller manager", "Scheduler"} {
		c.Status.Steps = append(c.Status.Steps, v1alpha1.Step{Name: step, Done: true})
	}
	return c
}

// idlePercent is the share of one core that a process takes.
func idlePercent(ctx context.Context, pid int) (float64, error) {
	before, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(idleLook):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	after, err := processorTime(pid)
	return 100 * (after - before) / idleLook.Seconds(), err
}

// processorTime is fields 14 and 15 of /proc/<pid>/stat, in seconds.
func processorTime(pid int) (float64, error) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0, err
	}
	_, behind, _ := strings.Cut(string(data), ") ")
	fields, ticks := strings.Fields(behind), 0.0
	if len(fields) < 13 {
		return 0, fmt.Errorf("read the processor time of %d: %q", pid, data)
	}
	for _, field := range fields[11:13] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return ticks / 100, nil // USER_HZ
}
