package organization

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/controlplanetest"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
	"kqueen.io/kqueen/internal/tenancy/role"
)

func TestMain(m *testing.M) { os.Exit(controlplanetest.Run(m)) }

// subject is one Organization. The test takes the part of the namespace controller, and of its members, who create
// service accounts.
type subject struct {
	client   client.WithWatch
	name     string
	accounts bool
}

// accounts are those of a subject, behind an injector.
type accounts struct {
	*subject
	inj *operatortest.Injector
}

// ForgetOrganization implements Accounts.
func (a accounts) ForgetOrganization(_ context.Context, organization string) error {
	return a.inj.Call("accounts.ForgetOrganization", func() error {
		if organization == a.name {
			a.subject.accounts = false
		}
		return nil
	})
}

func newSubject(t *testing.T) *subject {
	t.Helper()
	c := controlplanetest.Client(t)
	o := &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{GenerateName: "o-"}}
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatalf("create the organization: %v", err)
	}
	return &subject{client: c, name: o.Name}
}

func (s *subject) get(ctx context.Context) (*v1alpha1.Organization, error) {
	o := &v1alpha1.Organization{}
	return o, s.client.Get(ctx, client.ObjectKey{Name: s.name}, o)
}

func (s *subject) namespace() string { return "org-" + s.name }

func (s *subject) world() operatortest.World {
	return operatortest.World{
		Request: reconcile.Request{NamespacedName: client.ObjectKey{Name: s.name}},
		Reconciler: func(inj *operatortest.Injector) reconcile.Reconciler {
			// Its cache has not heard of any cluster yet.
			cached := operatortest.Stale(s.client, &v1alpha1.Cluster{})
			return New(inj.Client(cached), inj.Client(s.client), accounts{s, inj}, nil)
		},
		Object:   func(ctx context.Context) (operator.Object, error) { return s.get(ctx) },
		Step:     s.finalize,
		Done:     s.says(v1alpha1.ConditionReady, v1alpha1.ReasonReady),
		Snapshot: s.snapshot,
	}
}

// says tells whether a condition of the present generation has a reason.
func (s *subject) says(condition, reason string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) {
		o, err := s.get(ctx)
		c := apimeta.FindStatusCondition(o.Status.Conditions, condition)
		return c != nil && c.Reason == reason && c.ObservedGeneration == o.Generation, err
	}
}

// finalize ends a namespace that is being deleted, as the namespace controller does.
func (s *subject) finalize(ctx context.Context) (bool, error) {
	ns := &corev1.Namespace{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: s.namespace()}, ns); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if ns.DeletionTimestamp.IsZero() {
		return false, nil
	}
	ns.Spec.Finalizers = nil
	return true, s.client.SubResource("finalize").Update(ctx, ns)
}

func (s *subject) snapshot(ctx context.Context) (any, error) {
	var end []string
	if s.accounts {
		end = append(end, "accounts")
	}
	ns := &corev1.Namespace{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: s.namespace()}, ns); err == nil {
		end = append(end, fmt.Sprint("namespace, owners ", len(ns.OwnerReferences), ", going ", !ns.DeletionTimestamp.IsZero()))
	} else if !apierrors.IsNotFound(err) {
		return nil, err
	}
	granted, err := s.granted(ctx)
	if err != nil {
		return nil, err
	}
	end = append(end, granted...)
	o, err := s.get(ctx)
	if apierrors.IsNotFound(err) {
		return end, nil
	}
	for _, c := range o.Status.Conditions {
		end = append(end, fmt.Sprint(c.Type, "=", c.Status, " ", c.Reason, " ", c.Message, " of ", c.ObservedGeneration))
	}
	end = append(end, "namespace "+o.Status.Namespace, fmt.Sprint(o.Finalizers))
	for i := range end {
		end[i] = strings.ReplaceAll(end[i], s.name, "NAME")
	}
	slices.Sort(end)
	return end, err
}

// granted lists what the organization's roles were granted and what remains of it in no namespace.
func (s *subject) granted(ctx context.Context) ([]string, error) {
	var all []string
	for _, object := range role.Bindings(&v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: s.name}}) {
		err := s.client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) || object.GetDeletionTimestamp() != nil {
			continue
		}
		if err != nil {
			return nil, err
		}
		// Where no garbage collector runs, what is in a namespace stays when the namespace goes.
		if object.GetNamespace() == "" {
			all = append(all, strings.ReplaceAll(fmt.Sprintf("%T %s", object, object.GetName()), s.name, "NAME"))
		}
	}
	return all, nil
}

func (s *subject) deletion() *operatortest.Act {
	return &operatortest.Act{
		Do: func(ctx context.Context) error {
			// Only an organization that has its namespace has members who may create accounts.
			s.accounts = s.client.Get(ctx, client.ObjectKey{Name: s.namespace()}, &corev1.Namespace{}) == nil
			return client.IgnoreNotFound(s.client.Delete(ctx, &v1alpha1.Organization{ObjectMeta: metav1.ObjectMeta{Name: s.name}}))
		},
		Done: func(ctx context.Context) (bool, error) {
			_, err := s.get(ctx)
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		},
	}
}

func TestOrganizationUnderFaults(t *testing.T) {
	tests := map[string]func(t *testing.T, s *subject) operatortest.World{
		"Create": func(_ *testing.T, s *subject) operatortest.World { return s.world() },
		"Delete": func(t *testing.T, s *subject) operatortest.World {
			return operatortest.After(t, s.world(), *s.deletion())
		},
		"DeleteHalfMade": func(_ *testing.T, s *subject) operatortest.World { w := s.world(); w.Then = s.deletion(); return w },
	}
	for name, world := range tests {
		t.Run(name, func(t *testing.T) {
			operatortest.Run(t, func(t *testing.T) operatortest.World { return world(t, newSubject(t)) })
		})
	}
}

func (s *subject) want(t *testing.T, want ...string) {
	t.Helper()
	got, err := s.snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("end state (-want +got):\n%s", diff)
	}
}

func TestCreate(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world())
	s.want(t,
		"*v1.ClusterRole kqueen:org:NAME:developer", "*v1.ClusterRole kqueen:org:NAME:operator",
		"*v1.ClusterRole kqueen:org:NAME:owner", "*v1.ClusterRole kqueen:org:NAME:viewer",
		"*v1.ClusterRoleBinding kqueen:org:NAME:developer", "*v1.ClusterRoleBinding kqueen:org:NAME:operator",
		"*v1.ClusterRoleBinding kqueen:org:NAME:owner", "*v1.ClusterRoleBinding kqueen:org:NAME:viewer",
		"NamespaceReady=True NamespaceCreated the namespace org-NAME is there of 1",
		"Ready=True Ready its namespace is there, and its members have their roles of 1",
		"Reconciling=False Idle  of 1", "RolesBound=True RolesBound what each role may do is granted of 1", "Stalled=False Idle  of 1",
		"[kqueen.io/organization]", "namespace org-NAME", "namespace, owners 1, going false",
	)
}

// TestForeignNamespace: a namespace that is there already is neither taken over nor deleted.
func TestForeignNamespace(t *testing.T) {
	s := newSubject(t)
	foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace()}}
	if err := s.client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	w := s.world()
	w.Done = s.says(v1alpha1.ConditionStalled, v1alpha1.ReasonNamespaceForeign)
	operatortest.Converge(t, w)
	operatortest.Converge(t, operatortest.After(t, w, *s.deletion()))
	after := &corev1.Namespace{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: s.namespace()}, after); err != nil || !after.DeletionTimestamp.IsZero() || len(after.OwnerReferences) > 0 {
		t.Errorf("the foreign namespace was touched: %v %v", err, after.ObjectMeta)
	}
}

// TestClustersRemain: an organization goes after its clusters and never takes them along, and those who can delete them
// have their accounts until then.
func TestClustersRemain(t *testing.T) {
	s := newSubject(t)
	operatortest.Converge(t, s.world())
	cluster := &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace(), Name: "demo"}, Spec: v1alpha1.ClusterSpec{Version: "v1.36.3"}}
	if err := s.client.Create(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w := operatortest.After(t, s.world(), *s.deletion())
	w.Done = s.says(v1alpha1.ConditionNamespaceReady, v1alpha1.ReasonClustersRemain)
	operatortest.Converge(t, w)
	ns := &corev1.Namespace{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: s.namespace()}, ns); err != nil || !ns.DeletionTimestamp.IsZero() {
		t.Fatalf("the namespace is being deleted although a cluster remains: %v", err)
	}
	if !s.accounts {
		t.Error("its service accounts are gone although a cluster remains")
	}
	if err := s.client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.Done = s.deletion().Done
	operatortest.Converge(t, w)
	s.want(t)
}
