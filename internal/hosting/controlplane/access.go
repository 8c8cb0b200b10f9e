package controlplane

import (
	"context"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// accessTimeout bounds one look at the rights and what follows from it: a tenant's API server is not trusted to answer.
const accessTimeout = 5 * time.Second

const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	// clusterView is the ClusterRole with what "view" of upstream lacks to be of use in a whole cluster.
	clusterView = v1alpha1.TokenPrefix + "cluster-view"
)

// clusterViewRules are what stands in no namespace and nothing can be understood without: where pods run, what volumes
// are, which classes and kinds there are, and what nodes and pods use.
var clusterViewRules = []rbacv1.PolicyRule{
	readOnly("", "nodes", "persistentvolumes"),
	readOnly("apiextensions.k8s.io", "customresourcedefinitions"),
	readOnly("metrics.k8s.io", "nodes", "pods"),
	readOnly("networking.k8s.io", "ingressclasses"),
	readOnly("scheduling.k8s.io", "priorityclasses"),
	readOnly("storage.k8s.io", "storageclasses", "csidrivers", "volumeattachments"),
}

func readOnly(group string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: []string{"get", "list", "watch"}}
}

// accessObjects are the rights of the groups of credentials, in the order in which they are made. Each binding has the
// name of its group.
func accessObjects() []client.Object {
	all := []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: accessMeta(clusterView), Rules: clusterViewRules},
		bindingOf(clusterView, clusterView, v1alpha1.AccessView, v1alpha1.AccessEdit),
		bindingOf(v1alpha1.TokenPrefix+v1alpha1.AccessView, "view", v1alpha1.AccessView, v1alpha1.AccessEdit),
	}
	return append(append(all, editObjects()...), bindingOf(v1alpha1.TokenPrefix+v1alpha1.AccessClusterAdmin, "cluster-admin", v1alpha1.AccessClusterAdmin))
}

func bindingOf(name, role string, groups ...string) *rbacv1.ClusterRoleBinding {
	b := &rbacv1.ClusterRoleBinding{
		ObjectMeta: accessMeta(name),
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}
	for _, group := range groups {
		b.Subjects = append(b.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: v1alpha1.TokenPrefix + group})
	}
	return b
}

func accessMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{labelManagedBy: "kqueen"}}
}

// ensureAccess gives the groups of credentials their rights in the cluster, and puts back what a tenant removed or
// changed.
func (r *reconciler) ensureAccess(ctx context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	if r.Issuer == nil || cp.IsCopy() {
		return operator.Done(v1alpha1.ReasonAccessNotOffered, "no credentials are issued for it")
	}
	kubeconfig, err := r.adminKubeconfig(ctx, cp)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonAccessMissing, err)
	}
	tenant, err := r.Tenants.Direct(string(cp.UID), kubeconfig)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonAccessMissing, err)
	}
	ctx, cancel := context.WithTimeout(ctx, accessTimeout)
	defer cancel()
	return grantAll(ctx, tenant, wasInstalled(cp))
}

// grantAll gives all rights. Once they were there, a look that does not succeed takes no cluster's readiness: one
// that is busy is as usable as before.
func grantAll(ctx context.Context, tenant client.Client, installed bool) operator.Outcome {
	for _, want := range accessObjects() {
		looked, err := grant(ctx, tenant, want)
		if err == nil {
			continue
		}
		err = fmt.Errorf("%s in the cluster: %w", want.GetName(), err)
		if !looked && installed {
			return operator.DoneUntil(v1alpha1.ReasonAccessUnchecked, err.Error(), componentsCheck)
		}
		return operator.Retry(v1alpha1.ReasonAccessMissing, err)
	}
	return operator.Done(v1alpha1.ReasonAccessInstalled, "credentials of KQueen have their rights in the cluster")
}

// wasInstalled says whether the rights were there when they were last seen.
func wasInstalled(cp *v1alpha1.ControlPlane) bool {
	c := apimeta.FindStatusCondition(cp.Status.Conditions, v1alpha1.ConditionAccessReady)
	return c != nil && (c.Reason == v1alpha1.ReasonAccessInstalled || c.Reason == v1alpha1.ReasonAccessUnchecked)
}

// forgetAccess: the rights go with the cluster.
func (r *reconciler) forgetAccess(_ context.Context, cp *v1alpha1.ControlPlane) operator.Outcome {
	if r.Tenants != nil {
		r.Tenants.Forget(string(cp.UID))
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// grant makes an object as it is wanted. looked says whether it found out how it is. It reads first, because no webhook
// of the tenant comes before a read. What carries upstream's mark of what is not to be updated is left alone.
func grant(ctx context.Context, tenant client.Client, want client.Object) (looked bool, err error) {
	have := want.DeepCopyObject().(client.Object)
	err = tenant.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return true, tenant.Create(ctx, want)
	}
	if err != nil {
		return false, err
	}
	switch judgeGrant(have, want) {
	case grantGood:
		return true, nil
	case grantOther:
		want.SetResourceVersion(have.GetResourceVersion())
		want.SetAnnotations(have.GetAnnotations())
		return true, tenant.Update(ctx, want)
	}
	// What a binding binds to cannot be changed.
	if err := client.IgnoreNotFound(tenant.Delete(ctx, have, client.Preconditions{UID: ptr.To(have.GetUID())})); err != nil {
		return true, err
	}
	return true, tenant.Create(ctx, want)
}

// verdict is what is to be done about an object that is there.
type verdict int

const (
	grantGood    verdict = iota // nothing
	grantOther                  // update it
	grantForeign                // make it anew
)

// judgeGrant compares what gives rights, and nothing else. It is pure.
func judgeGrant(have, want client.Object) verdict {
	if have.GetAnnotations()[rbacv1.AutoUpdateAnnotationKey] == "false" {
		return grantGood
	}
	same := equality.Semantic.DeepEqual
	switch want := want.(type) {
	case *rbacv1.ClusterRole:
		have := have.(*rbacv1.ClusterRole)
		if !same(have.AggregationRule, want.AggregationRule) {
			return grantOther
		}
		// The rules of one that takes in others are upstream's controller's to write.
		if want.AggregationRule == nil && !same(have.Rules, want.Rules) {
			return grantOther
		}
	case *rbacv1.ClusterRoleBinding:
		have := have.(*rbacv1.ClusterRoleBinding)
		if have.RoleRef != want.RoleRef {
			return grantForeign
		}
		if !same(have.Subjects, want.Subjects) {
			return grantOther
		}
	case *admissionv1.ValidatingAdmissionPolicy:
		if !same(have.(*admissionv1.ValidatingAdmissionPolicy).Spec, want.Spec) {
			return grantOther
		}
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		if !same(have.(*admissionv1.ValidatingAdmissionPolicyBinding).Spec, want.Spec) {
			return grantOther
		}
	}
	return grantGood
}
