package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/operator/operatortest"
)

// tenantLines lead to the tenant's API server. It is the test plane's: rights are the same in every one.
type tenantLines struct{ client.Client }

func (l tenantLines) Direct(_ string, kubeconfig []byte) (client.Client, error) {
	if len(kubeconfig) == 0 {
		return nil, errors.New("there is no kubeconfig")
	}
	return l.Client, nil
}

func (tenantLines) Forget(string) {}

var _ Tenants = (*kube.Remotes)(nil)

// forgetRights makes the tenant's API server one that was just started.
func (p *plane) forgetRights(t *testing.T) {
	t.Helper()
	for _, o := range accessObjects() {
		if err := client.IgnoreNotFound(p.client.Delete(t.Context(), o)); err != nil {
			t.Fatal(err)
		}
	}
}

// rights are those in the tenant's cluster that KQueen gave.
func (p *plane) rights(ctx context.Context) ([]string, error) {
	var out []string
	for _, o := range accessObjects() {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, describeRight(o))
	}
	return out, nil
}

func describeRight(o client.Object) string {
	switch o := o.(type) {
	case *rbacv1.ClusterRole:
		return fmt.Sprint("role ", o.Name, o.Rules, o.AggregationRule)
	case *rbacv1.ClusterRoleBinding:
		var groups []string
		for _, s := range o.Subjects {
			groups = append(groups, s.Name)
		}
		return fmt.Sprint("binding ", o.Name, " of ", o.RoleRef.Name, " to ", groups)
	}
	return fmt.Sprintf("%T %s", o, o.GetName())
}

// TestAccessObjects compares what is put into every cluster with testdata/access.golden.
func TestAccessObjects(t *testing.T) {
	var text strings.Builder
	for _, o := range accessObjects() {
		data, err := yaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n" + string(data))
	}
	golden(t, filepath.Join("testdata", "access.golden"), text.String())
}

func TestJudgeGrant(t *testing.T) {
	tests := map[string]struct {
		reason string
		alter  func(role *rbacv1.ClusterRole, binding *rbacv1.ClusterRoleBinding)
		role   verdict
		other  verdict // of the binding
	}{
		"Same":       {"", func(*rbacv1.ClusterRole, *rbacv1.ClusterRoleBinding) {}, grantGood, grantGood},
		"Label":      {"What gives no rights is the tenant's business.", func(r *rbacv1.ClusterRole, b *rbacv1.ClusterRoleBinding) { r.Labels, b.Labels = nil, nil }, grantGood, grantGood},
		"FewerRules": {"", func(r *rbacv1.ClusterRole, _ *rbacv1.ClusterRoleBinding) { r.Rules = r.Rules[1:] }, grantOther, grantGood},
		"MoreRules": {"", func(r *rbacv1.ClusterRole, _ *rbacv1.ClusterRoleBinding) {
			r.Rules = append(r.Rules, readOnly("", "secrets"))
		}, grantOther, grantGood},
		"Aggregation": {"It would overwrite the rules.", func(r *rbacv1.ClusterRole, _ *rbacv1.ClusterRoleBinding) {
			r.AggregationRule = &rbacv1.AggregationRule{}
		}, grantOther, grantGood},
		"NoSubjects": {"", func(_ *rbacv1.ClusterRole, b *rbacv1.ClusterRoleBinding) { b.Subjects = nil }, grantGood, grantOther},
		"OtherRole":  {"Upstream lets no user change it.", func(_ *rbacv1.ClusterRole, b *rbacv1.ClusterRoleBinding) { b.RoleRef.Name = "cluster-admin" }, grantGood, grantForeign},
		"LeftAlone": {"Upstream's mark.", func(r *rbacv1.ClusterRole, b *rbacv1.ClusterRoleBinding) {
			mark := map[string]string{rbacv1.AutoUpdateAnnotationKey: "false"}
			r.Rules, b.Subjects, r.Annotations, b.Annotations = nil, nil, mark, mark
		}, grantGood, grantGood},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			role, binding := accessObjects()[0].(*rbacv1.ClusterRole), accessObjects()[1].(*rbacv1.ClusterRoleBinding)
			role.Rules = slices.Clone(role.Rules)
			tc.alter(role, binding)
			if got := judgeGrant(role, accessObjects()[0]); got != tc.role {
				t.Errorf("%s role: want %d, got %d", tc.reason, tc.role, got)
			}
			if got := judgeGrant(binding, accessObjects()[1]); got != tc.other {
				t.Errorf("%s binding: want %d, got %d", tc.reason, tc.other, got)
			}
		})
	}
}

// TestAccessIsWrittenOnce: what the API server fills in is no difference, or every look would write.
func TestAccessIsWrittenOnce(t *testing.T) {
	p := newPlane(t)
	if got := grantAll(t.Context(), p.client, false); !got.IsDone() {
		t.Fatal(got)
	}
	for _, want := range accessObjects() {
		have := want.DeepCopyObject().(client.Object)
		if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(have), have); err != nil {
			t.Fatal(err)
		}
		if got := judgeGrant(have, want); got != grantGood {
			t.Errorf("%T %s would be written again: %d", want, want.GetName(), got)
		}
	}
	policy := systemGuard()[0].(*admissionv1.ValidatingAdmissionPolicy)
	more := policy.DeepCopy()
	more.Spec.MatchConstraints.ExcludeResourceRules = more.Spec.MatchConstraints.ResourceRules
	if got := judgeGrant(more, policy); got != grantOther {
		t.Errorf("a policy that excludes what it is about is left as it is: %d", got)
	}
}

// TestAccessIsPutBack: whatever an administrator of the cluster did to the rights, the next run mends it.
func TestAccessIsPutBack(t *testing.T) {
	p := newPlane(t)
	w := p.world()
	operatortest.Converge(t, w)
	want, err := p.rights(t.Context())
	if err != nil || len(want) != len(accessObjects()) {
		t.Fatalf("want all rights, got %q, %v", want, err)
	}
	view, edit := bindingOf("kqueen:view", "cluster-admin", "view"), bindingOf("kqueen:edit", "edit")
	policy := systemGuard()[0].(*admissionv1.ValidatingAdmissionPolicy)
	acts := map[string]func() error{
		"removed": func() error { return p.client.Delete(t.Context(), view) },
		"bound to another role": func() error {
			return errors.Join(p.client.Delete(t.Context(), view), p.client.Create(t.Context(), view.DeepCopy()))
		},
		"emptied": func() error {
			if err := p.client.Get(t.Context(), client.ObjectKeyFromObject(edit), edit); err != nil {
				return err
			}
			edit.Subjects = nil
			return p.client.Update(t.Context(), edit)
		},
		"role emptied": func() error {
			role := &rbacv1.ClusterRole{}
			if err := p.client.Get(t.Context(), client.ObjectKey{Name: clusterView}, role); err != nil {
				return err
			}
			role.Rules = nil
			return p.client.Update(t.Context(), role)
		},
	}
	acts["policy removed"] = func() error { return p.client.Delete(t.Context(), policy.DeepCopy()) }
	for name, act := range acts {
		if err := act(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := w.Reconciler(&operatortest.Injector{}).Reconcile(t.Context(), w.Request); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := p.rights(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: want it to be put back:\n%q\ngot\n%q, %v", name, want, got, err)
		}
	}
}

// TestAccessOutcomes: what is said when the cluster does not let us look, or does not let us mend.
func TestAccessOutcomes(t *testing.T) {
	busy := apierrors.NewTooManyRequests("busy", 1)
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Message: "a webhook refuses"}}
	tests := map[string]struct {
		reason    string
		installed bool
		get, make error
		want      string
	}{
		"Installed": {"", false, nil, nil, "done AccessInstalled: credentials of KQueen have their rights in the cluster"},
		"FirstLook": {"It is not known yet whether it is ready.", false, busy, nil, "retry AccessMissing: kqueen:cluster-view in the cluster: busy"},
		"LaterLook": {"The cluster is as usable as before.", true, busy, nil, "done AccessUnchecked: kqueen:cluster-view in the cluster: busy"},
		"Refused":   {"They are known to be missing.", true, nil, refused, "retry AccessMissing: kqueen:cluster-view in the cluster: a webhook refuses"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPlane(t)
			tenant := interceptor.NewClient(p.client, interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
					if tc.get != nil {
						return tc.get
					}
					return c.Get(ctx, key, obj, opts...)
				},
				Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
					if tc.make != nil {
						return tc.make
					}
					return c.Create(ctx, obj, opts...)
				},
			})
			if got := grantAll(t.Context(), tenant, tc.installed).String(); got != tc.want {
				t.Errorf("%s\nwant %s\ngot  %s", tc.reason, tc.want, got)
			}
		})
	}
}
