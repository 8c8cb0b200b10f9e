package machinecontroller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/workers/machine"
)

func (s *subject) world(t *testing.T) operatortest.World {
	return operatortest.World{
		Request:    s.request(),
		Reconciler: s.reconciler,
		Object:     func(ctx context.Context) (operator.Object, error) { return s.get(ctx) },
		Step:       s.step(t),
		Done:       s.settled,
		Snapshot:   s.snapshot,
	}
}

// settled says whether the machine is ready and nothing is left of its joining.
func (s *subject) settled(ctx context.Context) (bool, error) {
	m, err := s.get(ctx)
	if err != nil || m.Status.ObservedGeneration != m.Generation || !apimeta.IsStatusConditionTrue(m.Status.Conditions, v1alpha1.ConditionReady) {
		return false, err
	}
	c := apimeta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionBootstrapped)
	return c.Reason == v1alpha1.ReasonJoined && recordOf(m).equal(recordFor(s.of, nodeLabels(m), m.Spec.Taints)), nil
}

// end is the end state of a machine, without names and times of its own.
type end struct {
	Machines   []string
	Join       []string // Secrets in the admin plane
	Tokens     int      // in the cluster
	Requests   []string
	Pods       []string
	Node       []string
	Conditions []string
	Status     v1alpha1.MachineStatus
	Finalizers []string
}

func (s *subject) snapshot(ctx context.Context) (any, error) {
	e, err := s.outside(ctx)
	if err != nil {
		return nil, err
	}
	m, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		return e, nil
	}
	for _, k := range m.Status.Conditions {
		e.Conditions = append(e.Conditions, strings.ReplaceAll(fmt.Sprint(k.Type, "=", k.Status, " ", k.Reason, " ", k.Message, " of ", k.ObservedGeneration), s.name, "NAME"))
	}
	slices.Sort(e.Conditions)
	e.Status, e.Finalizers = m.Status, m.Finalizers
	e.Status.Conditions = nil
	e.Status.ProviderID = strings.ReplaceAll(m.Status.ProviderID, string(s.uid), "UID")
	if m.Status.JoinTime != nil {
		e.Status.JoinTime = &metav1.Time{}
	}
	return e, err
}

// outside is what of the machine is in the factory, in the cluster and in its namespace.
func (s *subject) outside(ctx context.Context) (end, error) {
	var e end
	for uid, m := range s.machines {
		e.Machines = append(e.Machines, fmt.Sprint(uid == s.uid, m.want.Version, m.want.Token == "", m.deleting))
	}
	secrets := &corev1.SecretList{}
	if err := s.admin.List(ctx, secrets, client.InNamespace(s.namespace)); err != nil {
		return e, err
	}
	for i := range secrets.Items {
		e.Join = append(e.Join, strings.ReplaceAll(secrets.Items[i].Name, string(s.uid), "UID"))
	}
	if err := s.cluster.List(ctx, secrets, client.InNamespace(metav1.NamespaceSystem)); err != nil {
		return e, err
	}
	for i := range secrets.Items {
		if strings.Contains(string(secrets.Items[i].Data["description"]), s.name) {
			e.Tokens++
		}
	}
	csrs := &certificatesv1.CertificateSigningRequestList{}
	if err := s.cluster.List(ctx, csrs); err != nil {
		return e, err
	}
	for i := range csrs.Items {
		if c := &csrs.Items[i]; strings.HasSuffix(c.Spec.Username, s.name) {
			e.Requests = append(e.Requests, fmt.Sprint(c.Spec.SignerName, len(c.Status.Conditions)))
		}
	}
	pods := &corev1.PodList{}
	if err := s.cluster.List(ctx, pods, client.MatchingFields{"spec.nodeName": s.name}); err != nil {
		return e, err
	}
	for i := range pods.Items {
		e.Pods = append(e.Pods, pods.Items[i].Name)
	}
	node, err := s.node(ctx)
	if err == nil {
		for key, value := range node.Labels {
			e.Node = append(e.Node, key+"="+value)
		}
		for _, taint := range node.Spec.Taints {
			e.Node = append(e.Node, "taint "+taint.ToString())
		}
		e.Node = append(e.Node, strings.ReplaceAll(node.Spec.ProviderID, string(s.uid), "UID"))
		slices.Sort(e.Node)
	}
	return e, client.IgnoreNotFound(err)
}

func (s *subject) deletion() *operatortest.Act {
	return &operatortest.Act{
		Do: func(ctx context.Context) error {
			return client.IgnoreNotFound(s.admin.Delete(ctx, &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}))
		},
		Done: func(ctx context.Context) (bool, error) {
			_, err := s.get(ctx)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}

// relabel gives the machine other labels and taints.
func (s *subject) relabel() operatortest.Act {
	return operatortest.Act{
		Do: func(ctx context.Context) error {
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"labels":{"disk":null,"zone":"a"},"taints":[{"key":"other","effect":"NoExecute"}]}}`))
			return s.admin.Patch(ctx, &v1alpha1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name}}, patch)
		},
		Done: s.settled,
	}
}

// loss takes away all that there is of the machine, as a restore on another host does.
func (s *subject) loss() operatortest.Act {
	return operatortest.Act{
		Do: func(context.Context) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.machines, s.uid)
			return nil
		},
		Done: func(ctx context.Context) (bool, error) {
			s.mu.Lock()
			there := s.machines[s.uid] != nil
			s.mu.Unlock()
			settled, err := s.settled(ctx)
			return there && settled, err
		},
	}
}

func TestMachineUnderFaults(t *testing.T) {
	tests := map[string]func(t *testing.T, s *subject) operatortest.World{
		"Create": func(t *testing.T, s *subject) operatortest.World { return s.world(t) },
		"Delete": func(t *testing.T, s *subject) operatortest.World {
			operatortest.Converge(t, s.world(t))
			s.pod(t, "web", nil)
			w := operatortest.After(t, s.world(t), *s.deletion())
			step := w.Step
			w.Step = func(ctx context.Context) (bool, error) {
				if err := s.confirm(ctx); err != nil {
					return false, err
				}
				return step(ctx)
			}
			return w
		},
		"Relabel": func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(t), s.relabel())
		},
		"Lost": func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(t), s.loss())
		},
		"DeleteHalfMade": func(t *testing.T, s *subject) operatortest.World { w := s.world(t); w.Then = s.deletion(); return w },
	}
	for name, world := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.RunParallel(t, func(t *testing.T) operatortest.World { return world(t, newSubject(t)) })
		})
	}
}

// TestMachineEndState says in words what the runs under faults are compared with.
func TestMachineEndState(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world(t))
	got, err := s.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := got.(end)
	wanted := []string{
		"disk=fast", "kqueen.io/machine-provider=local", "kqueen.io/nodepool=pool", "kqueen://local/UID", "node-role.kubernetes.io/worker=",
		"taint node.kubernetes.io/not-ready:NoSchedule", "taint only=batch:NoSchedule",
	}
	if !slices.Equal(e.Node, wanted) {
		t.Errorf("the node has %q, want %q", e.Node, wanted)
	}
	if len(e.Machines) != 1 || len(e.Join) != 0 || e.Tokens != 0 || e.Status.PodCIDR != "10.244.7.0/24" || e.Status.Address != "10.9.0.2" || e.Status.Version != "v1.36.2" || len(e.Finalizers) != 1 {
		t.Errorf("want one machine, no token any more, and what is known of it, got %+v", e)
	}
	operatortest.Converge(t, operatortest.After(t, s.world(t), s.relabel()))
	if e, err = s.outside(t.Context()); err != nil {
		t.Fatal(err)
	}
	wanted = []string{
		"kqueen.io/machine-provider=local", "kqueen.io/nodepool=pool", "kqueen://local/UID", "node-role.kubernetes.io/worker=",
		"taint node.kubernetes.io/not-ready:NoSchedule", "taint other:NoExecute", "zone=a",
	}
	if !slices.Equal(e.Node, wanted) {
		t.Errorf("after the change the node has %q, want %q", e.Node, wanted)
	}
	operatortest.Converge(t, operatortest.After(t, s.world(t), *s.deletion()))
	if e, err = s.outside(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(e.Machines)+len(e.Join)+e.Tokens+len(e.Requests)+len(e.Node) != 0 {
		t.Errorf("want nothing to be left, got %+v", e)
	}
	if len(s.deleted) != 1 || s.deleted[0].Cluster != s.of || s.deleted[0].ProviderID != machine.ProviderID("local", s.uid) {
		t.Errorf("the provider was told to delete %v, want the machine of cluster %s", s.deleted, s.of)
	}
}
