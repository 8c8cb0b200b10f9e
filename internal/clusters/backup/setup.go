package backup

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Setup adds the reconcilers of BackupStore, Backup and Restore to mgr. Of c it fills in Client, Secrets, Recorder and Now. What goes on
// beside them ends with ctx.
func Setup(ctx context.Context, mgr ctrl.Manager, c Config) error {
	c.Client, c.Secrets, c.Recorder, c.Now = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr), time.Now
	ended := map[string]*operator.Notices{"backups": operator.NewNotices(), "restores": operator.NewNotices()}
	notify := func(uid string) { // the reconciler that has an object of that UID finds it
		ended["backups"].Send(uid)
		ended["restores"].Send(uid)
	}
	w := &world{c, jobs.New(ctx, notify, func(f func()) { go f() }, jobs.Retry)}
	for _, kind := range []client.Object{&v1alpha1.Backup{}, &v1alpha1.Restore{}} {
		if err := operator.IndexUID(ctx, mgr.GetFieldIndexer(), kind); err != nil {
			return err
		}
	}
	if err := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.BackupStore{}).Complete((&stores{world: w}).reconciler()); err != nil {
		return err
	}
	allBackups := func() client.ObjectList { return &v1alpha1.BackupList{} }
	err := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Backup{}).WithOptions(operator.Parallel()).
		WatchesRawSource(ended["backups"].ByIndex(c.Client, operator.UIDIndex, allBackups)).Complete((&backups{w}).reconciler())
	if err != nil {
		return err
	}
	allRestores := func() client.ObjectList { return &v1alpha1.RestoreList{} }
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Restore{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(w.unended)).
		Watches(&v1alpha1.ControlPlane{}, handler.EnqueueRequestsFromMapFunc(w.unended)).
		Watches(&v1alpha1.Backup{}, handler.EnqueueRequestsFromMapFunc(w.unended)).
		WatchesRawSource(ended["restores"].ByIndex(c.Client, operator.UIDIndex, allRestores)).Complete((&restores{w}).reconciler())
}

// unended are the restores in the namespace of an object that have not ended: there are few.
func (w *world) unended(ctx context.Context, o client.Object) []reconcile.Request {
	list := &v1alpha1.RestoreList{}
	if err := w.Client.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
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

// Rules are what the reconcilers of this package need on the admin plane.
func Rules() []rbacv1.PolicyRule {
	rules := append(operator.Rules("backups"), operator.Rules("backupstores")...)
	return append(append(rules, operator.Rules("restores")...),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"backups"}, "create"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"backupschedules"}, "get", "list", "watch"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"clusters"}, "get", "list", "watch", "create", "delete"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"controlplanes"}, "get", "list", "watch", "patch"),
		operator.Rule("", []string{"secrets"}, "get", "create", "delete"),
	)
}
