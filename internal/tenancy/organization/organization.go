// Package organization is the reconciler of Organization: it gives each
// organization its namespace and its roles what they may do there, and takes
// both away when the organization is deleted and has no clusters left.
package organization

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/tenancy/role"
)

// deleteInterval is the time between two looks at a namespace that is being deleted.
const deleteInterval = 2 * time.Second

// Accounts are what signs in to an organization and is no object: its service accounts and their tokens, and tokens of
// users that were narrowed to it.
type Accounts interface {
	// ForgetOrganization removes those of an organization. There may be none.
	ForgetOrganization(ctx context.Context, organization string) error
}

type reconciler struct {
	client   client.Client
	direct   client.Reader
	accounts Accounts
}

// New returns the reconciler of Organization. direct reads without a cache what a deletion depends on.
func New(c client.Client, direct client.Reader, accounts Accounts, recorder events.EventRecorder) *operator.Reconciler[*v1alpha1.Organization] {
	r := &reconciler{c, direct, accounts}
	return operator.New(operator.Config[*v1alpha1.Organization]{
		Client:    c,
		Recorder:  recorder,
		New:       func() *v1alpha1.Organization { return &v1alpha1.Organization{} },
		Finalizer: v1alpha1.GroupVersion.Group + "/organization",
		Ready:     "its namespace is there, and its members have their roles",
		Phases: []operator.Phase[*v1alpha1.Organization]{
			{Condition: v1alpha1.ConditionNamespaceReady, Ensure: r.ensureNamespace, Remove: r.removeNamespace},
			{Condition: v1alpha1.ConditionRolesBound, Ensure: r.bindRoles},
		},
	})
}

func (r *reconciler) ensureNamespace(ctx context.Context, o *v1alpha1.Organization) operator.Outcome {
	name := o.OwnedNamespace()
	ns, err := r.namespace(ctx, name)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonNamespaceTerminating, err)
	}
	if ns == nil {
		ns = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, v1alpha1.GroupVersion.WithKind("Organization"))},
		}}
		if err := r.client.Create(ctx, ns); err != nil {
			return operator.Retry(v1alpha1.ReasonNamespaceTerminating, fmt.Errorf("create namespace %s: %w", name, err))
		}
	}
	if !metav1.IsControlledBy(ns, o) {
		return operator.Stalled(v1alpha1.ReasonNamespaceForeign, "a namespace %s exists and was not created for this organization; delete it, or choose another name", name)
	}
	if !ns.DeletionTimestamp.IsZero() {
		return operator.Wait(v1alpha1.ReasonNamespaceTerminating, "the namespace "+name+" is being deleted", deleteInterval)
	}
	o.Status.Namespace = name
	return operator.Done(v1alpha1.ReasonNamespaceCreated, "the namespace "+name+" is there")
}

// bindRoles grants the organization's groups what their roles may do, again whenever it was taken away.
func (r *reconciler) bindRoles(ctx context.Context, o *v1alpha1.Organization) operator.Outcome {
	if err := role.Keep(ctx, r.client, role.Bindings(o)); err != nil {
		return operator.Retry(v1alpha1.ReasonRolesUnbound, err)
	}
	return operator.Done(v1alpha1.ReasonRolesBound, "what each role may do is granted")
}

// unbindRoles takes away what is in no namespace, and who could have a role; the rest goes with the namespace. It comes
// last: a caller who deletes an organization has to be able to delete its clusters first.
func (r *reconciler) unbindRoles(ctx context.Context, o *v1alpha1.Organization) operator.Outcome {
	for _, object := range role.Bindings(o) {
		if object.GetNamespace() != "" {
			continue
		}
		if err := client.IgnoreNotFound(r.client.Delete(ctx, object)); err != nil {
			return operator.Retry(v1alpha1.ReasonRolesUnbound, fmt.Errorf("take %s away: %w", object.GetName(), err))
		}
	}
	// They would have their roles in a later organization of the same name.
	if err := r.accounts.ForgetOrganization(ctx, o.Name); err != nil {
		return operator.Retry(v1alpha1.ReasonRolesUnbound, err)
	}
	return operator.Done(v1alpha1.ReasonIdle, "")
}

// removeNamespace waits for the clusters: a deleted organization must not take running clusters with it unasked.
func (r *reconciler) removeNamespace(ctx context.Context, o *v1alpha1.Organization) operator.Outcome {
	name := o.OwnedNamespace()
	ns, err := r.namespace(ctx, name)
	if err != nil {
		return operator.Retry(v1alpha1.ReasonNamespaceTerminating, err)
	}
	if ns == nil || !metav1.IsControlledBy(ns, o) {
		return r.unbindRoles(ctx, o)
	}
	clusters := &v1alpha1.ClusterList{}
	if err := r.direct.List(ctx, clusters, client.InNamespace(name)); err != nil {
		return operator.Retry(v1alpha1.ReasonClustersRemain, fmt.Errorf("list clusters: %w", err))
	}
	if n := len(clusters.Items); n > 0 {
		return operator.Wait(v1alpha1.ReasonClustersRemain, fmt.Sprintf("clusters that the organization still has: %d; delete them first", n), deleteInterval)
	}
	if ns.DeletionTimestamp.IsZero() {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, ns, client.Preconditions{UID: &ns.UID})); err != nil {
			return operator.Retry(v1alpha1.ReasonNamespaceTerminating, fmt.Errorf("delete namespace %s: %w", name, err))
		}
	}
	return operator.Wait(v1alpha1.ReasonNamespaceTerminating, "the namespace "+name+" is being deleted", deleteInterval)
}

// namespace returns nil when there is none of that name.
func (r *reconciler) namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	ns := &corev1.Namespace{}
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, ns)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", name, err)
	}
	return ns, nil
}
