package rehearsal

import (
	"context"
	"iter"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// State reads and writes what is in one keyspace. datastore.State offers it.
type State interface {
	Entries(ctx context.Context, revision *int64) iter.Seq2[datastore.Entry, error]
	Space(ctx context.Context, left int) (int64, error)
	Bring(ctx context.Context, left int, want iter.Seq2[datastore.Entry, error], keep func(datastore.Entry) bool, tell func(datastore.Change)) error
}

// Config is what the reconciler is made of. All fields but Recorder are required.
type Config struct {
	// Client of the admin plane, and Reader one of it without a cache.
	Client client.Client
	Reader client.Reader
	// Plan says what an upgrade would be, as upgrade.DryRun does.
	Plan func(context.Context, *v1alpha1.Upgrade) (*v1alpha1.UpgradeStatus, error)
	// State opens what a control plane stores.
	State func(context.Context, *v1alpha1.ControlPlane) (State, error)
	// Live is the API server of a cluster, and Connect the one that a kubeconfig names.
	Live     func(context.Context, *v1alpha1.Cluster) (Server, error)
	Connect  func(kubeconfig []byte) (Server, error)
	Recorder events.EventRecorder
	Now      func() time.Time
}

// reconciler holds the phases.
type reconciler struct {
	Config
	jobs *jobs.Jobs
}

// Setup adds the reconciler of Rehearsal to mgr. Of c it fills in Client, Reader, Recorder and Now. What goes on beside it ends with ctx.
func Setup(ctx context.Context, mgr ctrl.Manager, c Config) error {
	c.Client, c.Reader, c.Recorder, c.Now = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr), time.Now
	if err := operator.IndexUID(ctx, mgr.GetFieldIndexer(), &v1alpha1.Rehearsal{}); err != nil {
		return err
	}
	ended := operator.NewNotices()
	r := &reconciler{c, jobs.New(ctx, ended.Send, func(f func()) { go f() }, jobs.Retry)}
	all := func() client.ObjectList { return &v1alpha1.RehearsalList{} }
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Rehearsal{}).WithOptions(operator.Parallel()).Owns(&v1alpha1.ControlPlane{}).
		WatchesRawSource(ended.ByIndex(c.Client, operator.UIDIndex, all)).Complete(r.operator())
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	group := v1alpha1.GroupVersion.Group
	return append(operator.Rules("rehearsals"),
		operator.Rule(group, []string{"clusters"}, "get", "list", "watch"),
		operator.Rule(group, []string{"controlplanes"}, "get", "list", "watch", "create", "patch", "delete"),
		operator.Rule("", []string{"secrets"}, "get"),
	)
}
