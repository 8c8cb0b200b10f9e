package backupschedule

import (
	"context"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/jobs"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Setup adds the reconciler of BackupSchedule to mgr. Of c it fills in Client, Recorder and Now. recorded has the UIDs of those of whose
// recording there is something new. What goes on beside the reconciler ends with ctx.
func Setup(ctx context.Context, mgr ctrl.Manager, c Config, recorded *operator.Notices) error {
	c.Client, c.Recorder, c.Now = mgr.GetClient(), operator.Recorder(mgr), time.Now
	r := &reconciler{c, jobs.New(ctx, recorded.Send, func(f func()) { go f() }, jobs.Retry)}
	if err := operator.IndexUID(ctx, mgr.GetFieldIndexer(), &v1alpha1.BackupSchedule{}); err != nil {
		return err
	}
	all := func() client.ObjectList { return &v1alpha1.BackupScheduleList{} }
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.BackupSchedule{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.Backup{}, handler.EnqueueRequestsFromMapFunc(r.of)).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.of)).
		Watches(&v1alpha1.ControlPlane{}, handler.EnqueueRequestsFromMapFunc(r.of)).
		Watches(&v1alpha1.BackupStore{}, handler.EnqueueRequestsFromMapFunc(r.recordingTo)).
		WatchesRawSource(recorded.ByIndex(c.Client, operator.UIDIndex, all)).
		Complete(r.operator())
}

// of are the schedules of a cluster or of its control plane, and the one of a backup.
func (r *reconciler) of(ctx context.Context, o client.Object) []reconcile.Request {
	uid := types.UID(o.GetLabels()[v1alpha1.LabelBackupSchedule])
	if _, ok := o.(*v1alpha1.Backup); ok && uid == "" {
		return nil
	}
	list := &v1alpha1.BackupScheduleList{}
	if err := r.Client.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
		return nil // each looks by itself when its next backup is due
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if s := &list.Items[i]; s.UID == uid || uid == "" && s.Spec.ClusterName == o.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return requests
}

// recordingTo are the schedules that record changes to a store.
func (r *reconciler) recordingTo(ctx context.Context, store client.Object) []reconcile.Request {
	list := &v1alpha1.BackupScheduleList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if s := &list.Items[i]; s.Spec.StoreName == store.GetName() && s.Spec.RecoveryWindowHours > 0 {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(s)})
		}
	}
	return requests
}

// Rules are what the reconciler needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return append(operator.Rules("backupschedules"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"backups"}, "get", "list", "watch", "create", "delete"),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"clusters", "controlplanes", "backupstores"}, "get", "list", "watch"),
		operator.Rule("", []string{"secrets"}, "get"),
	)
}
