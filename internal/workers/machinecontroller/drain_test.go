package machinecontroller

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// pod makes a pod on the machine's node, in the namespace of the machine's name, and says that it runs.
func (s *subject) pod(t *testing.T, name string, change func(*corev1.Pod)) {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.name}}
	if err := client.IgnoreAlreadyExists(s.cluster.Create(t.Context(), ns)); err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: "default"}}
	if err := client.IgnoreAlreadyExists(s.cluster.Create(t.Context(), account)); err != nil {
		t.Fatal(err)
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: name, Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{NodeName: s.name, Containers: []corev1.Container{{Name: "c", Image: "example.org/none:v1"}}},
	}
	if change != nil {
		change(p)
	}
	create(t, s.cluster, p)
	p.Status.Phase = corev1.PodRunning
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if err := s.cluster.Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
}

// confirm is the node's kubelet: pods that were asked to leave end.
func (s *subject) confirm(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := s.cluster.List(ctx, pods, client.MatchingFields{"spec.nodeName": s.name}); err != nil {
		return err
	}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			continue
		}
		err := s.cluster.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// budget lets so many pods of the app leave. Without a controller the test says so in its status.
func (s *subject) budget(t *testing.T, app string, allowed int32) {
	t.Helper()
	b := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.name, Name: app},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
	err := s.cluster.Create(t.Context(), b)
	if apierrors.IsAlreadyExists(err) {
		err = s.cluster.Get(t.Context(), client.ObjectKeyFromObject(b), b)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: b.Generation, DisruptionsAllowed: allowed, CurrentHealthy: 1 + allowed, DesiredHealthy: 1, ExpectedPods: 1}
	if err := s.cluster.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

// leaving is a machine that is ready, has a pod that a budget keeps and one that it does not, and is deleted.
func leaving(t *testing.T) *subject {
	t.Helper()
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	s.pod(t, "web", nil)
	s.pod(t, "free", nil)
	s.pod(t, "agent", func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "x", Controller: ptr.To(true)}}
	})
	s.budget(t, "web", 0)
	if err := s.deletion().Do(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// gone looks until the machine is gone.
func (s *subject) gone(t *testing.T) {
	t.Helper()
	w := s.world(t)
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	e, err := s.outside(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Machines)+len(e.Join)+e.Tokens+len(e.Requests)+len(e.Node) != 0 {
		t.Errorf("want nothing to be left, got %+v", e)
	}
}

func TestDrainHonoursBudgets(t *testing.T) {
	s := leaving(t)
	c := want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionFalse, v1alpha1.ReasonDraining)
	for _, part := range []string{"2 pods", "/web may not leave yet", "disruption budget web", "/free is ending"} {
		if !strings.Contains(c.Message, part) {
			t.Errorf("the message has no %q: %s", part, c.Message)
		}
	}
	if node, err := s.node(t.Context()); err != nil || !node.Spec.Unschedulable {
		t.Errorf("the node is not cordoned: %v", err)
	}
	if err := s.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	c = want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionFalse, v1alpha1.ReasonDraining)
	if !strings.Contains(c.Message, "1 pod:") || len(s.deleted) != 0 {
		t.Errorf("want the pod with a budget to be waited for, got %q, deleted %v", c.Message, s.deleted)
	}
	s.budget(t, "web", 1)
	s.look(t) // evicts
	if err := s.confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionTrue, v1alpha1.ReasonDrained)
	s.gone(t)
}

func TestDrainTimesOut(t *testing.T) {
	s := leaving(t)
	s.look(t)
	s.offset = 11 * time.Minute
	c := want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionTrue, v1alpha1.ReasonDrainTimedOut)
	if !strings.Contains(c.Message, "/web") {
		t.Errorf("the message does not name the pod that is left: %s", c.Message)
	}
	s.gone(t)
}

func TestDrainForever(t *testing.T) {
	s := leaving(t)
	m, err := s.get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m.Spec.Drain.TimeoutSeconds = new(int32)
	if err := s.admin.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	s.look(t)
	s.offset = 1000 * time.Hour
	want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionFalse, v1alpha1.ReasonDraining)
}

// TestDrainOfDeadNode: a kubelet that is gone confirms nothing, so its pods are taken from it when the machine is gone.
func TestDrainOfDeadNode(t *testing.T) {
	s := leaving(t)
	if err := s.report(t.Context(), corev1.ConditionUnknown, time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionFalse, v1alpha1.ReasonDraining)
	s.offset = time.Minute
	want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionTrue, v1alpha1.ReasonDrained)
	if e, err := s.outside(t.Context()); err != nil || len(e.Pods) != 3 {
		t.Errorf("while the machine may still run its pods stay, got %q, %v", e.Pods, err)
	}
	s.gone(t)
	if e, err := s.outside(t.Context()); err != nil || len(e.Pods) != 0 {
		t.Errorf("when the machine is gone so are its pods, got %q, %v", e.Pods, err)
	}
}

func TestDrainWithoutAnswer(t *testing.T) {
	s := leaving(t)
	s.away = errAway
	c := want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionFalse, v1alpha1.ReasonDraining)
	if !strings.Contains(c.Message, "cannot be asked") {
		t.Errorf("the message does not say that the cluster is away: %s", c.Message)
	}
	s.offset = 11 * time.Minute
	want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionTrue, v1alpha1.ReasonDrainTimedOut)
	w := s.world(t)
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	if len(s.machines) != 0 {
		t.Error("the machine is still there")
	}
}

// TestClusterGoes: a cluster that is deleted takes nodes, pods and tokens along; its machines do not wait for them.
func TestClusterGoes(t *testing.T) {
	s := leaving(t)
	s.away = errAway
	if err := s.admin.Delete(t.Context(), &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "demo"}}); err != nil {
		t.Fatal(err)
	}
	want(t, s.look(t), v1alpha1.ConditionDrained, metav1.ConditionTrue, v1alpha1.ReasonDrained)
	w := s.world(t)
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	if len(s.machines) != 0 || len(s.deleted) != 1 || s.deleted[0].Cluster != s.of {
		t.Errorf("want the machine to be gone, with the name of its cluster, got %v, %v", s.machines, s.deleted)
	}
}
