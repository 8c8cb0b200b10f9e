package upgrade

import (
	"context"
	"iter"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/share"
)

// Config is what the reconciler is made of. All fields but Recorder and Called are required.
type Config struct {
	// Client of the admin plane, and Reader one of it without a cache.
	Client client.Client
	Reader client.Reader
	// Read looks at a cluster, within bounds of time and bytes.
	Read func(context.Context, *v1alpha1.Cluster) (Seen, error)
	// Stored reads all that a control plane stores, of one revision.
	Stored func(context.Context, *v1alpha1.ControlPlane) (iter.Seq2[datastore.Entry, error], error)
	// Called says which deprecated APIs clients of a cluster call; nil where that is not observed.
	Called   func(context.Context, *v1alpha1.Cluster) ([]API, error)
	Recorder events.EventRecorder
	Now      func() time.Time
}

// Looks at clusters that go on at once, and those of one organization: a look at a cluster that does not answer takes as long as it may,
// and other upgrades go on meanwhile.
const (
	mostLooks      = 6
	mostLooksOfOne = 2
	sureOfOne      = 1
)

// reconciler holds the phases.
type reconciler struct {
	Config
	looks *share.Shares
}

func newReconciler(c Config) *reconciler {
	return &reconciler{c, share.New(mostLooks, mostLooksOfOne, sureOfOne)}
}

// Setup adds the reconciler of Upgrade to mgr, and what creates upgrades for clusters by their channel. Of c it fills in Client, Reader, Recorder and Now.
func Setup(mgr ctrl.Manager, c Config) error {
	c.Client, c.Reader, c.Recorder, c.Now = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr), time.Now
	if err := (&patcher{c}).setup(mgr); err != nil {
		return err
	}
	r := newReconciler(c)
	look := handler.EnqueueRequestsFromMapFunc(unended(r.Client))
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Upgrade{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.Cluster{}, look).Watches(&v1alpha1.ControlPlane{}, look).Watches(&v1alpha1.NodePool{}, look).Watches(&v1alpha1.Backup{}, look).
		Watches(&v1alpha1.Restore{}, look).
		Complete(r.operator())
}

// unended are the upgrades in the namespace of an object that have not ended: there are few.
func unended(c client.Reader) handler.MapFunc {
	return func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.UpgradeList{}
		if err := c.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			return nil // each looks by itself soon
		}
		var requests []reconcile.Request
		for i := range list.Items {
			if list.Items[i].Status.CompletionTime == nil {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
			}
		}
		return requests
	}
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	group := v1alpha1.GroupVersion.Group
	return append(append(operator.Rules("upgrades"), operator.Rule(group, []string{"upgrades"}, "create")),
		operator.Rule(group, []string{"clusters", "nodepools"}, "get", "list", "watch", "patch"),
		operator.Rule(group, []string{"controlplanes", "machines", "releases", "backupstores", "organizations"}, "get", "list", "watch"),
		operator.Rule(group, []string{"backups"}, "get", "list", "watch", "create"),
		operator.Rule(group, []string{"restores"}, "get", "list", "watch", "create", "delete"),
	)
}
