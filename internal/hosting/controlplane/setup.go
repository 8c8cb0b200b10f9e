package controlplane

import (
	"context"
	"log/slog"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

const (
	// audienceIndex finds a ControlPlane by what tokens for it carry.
	audienceIndex = "audience"
	// fetchRetry is the time between the end of a download that failed and the next.
	fetchRetry = time.Minute
)

// Watches tell the reconciler of ControlPlane what happens outside the admin plane. All are required.
type Watches struct {
	// Components gets the UID of a control plane when its runner says that a component changed.
	Components *operator.Notices
	// Credentials gets an audience when the answer of Config.Ended changes for it.
	Credentials *operator.Notices
}

// Setup adds the reconcilers of ControlPlane, DataStore and Release, and the Meter, to mgr. Of c it fills in Client,
// Secrets, Stores (which are stores), Sizes, Recorder and Now. Downloads of releases end with ctx. What it returns tells when a control
// plane was looked at for the first time in this life of the program.
func Setup(ctx context.Context, mgr ctrl.Manager, c Config, stores *DataStores, from Watches, log *slog.Logger) (*operator.FirstLooks, error) {
	c.Client, c.Secrets, c.Recorder, c.Now = mgr.GetClient(), mgr.GetAPIReader(), operator.Recorder(mgr), time.Now
	meter := NewMeter(c.Client, c.Gates, func(uid types.UID) { from.Components.Send(string(uid)) }, log, c.Now)
	c.Stores, c.Sizes = stores, meter
	if err := mgr.Add(manager.RunnableFunc(meter.Run)); err != nil {
		return nil, err
	}
	if err := setupReleases(ctx, mgr, c, log); err != nil {
		return nil, err
	}
	if err := setupGateQuotas(mgr, c); err != nil {
		return nil, err
	}
	err := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.DataStore{}).Complete(NewDataStoreReconciler(c.Client, stores, c.Gates, c.Recorder))
	if err != nil {
		return nil, err
	}
	return setupControlPlanes(ctx, mgr, c, from)
}

func setupControlPlanes(ctx context.Context, mgr ctrl.Manager, c Config, from Watches) (*operator.FirstLooks, error) {
	if err := operator.IndexUID(ctx, mgr.GetFieldIndexer(), &v1alpha1.ControlPlane{}); err != nil {
		return nil, err
	}
	audience := func(o client.Object) []string { return []string{Audience(o.(*v1alpha1.ControlPlane))} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ControlPlane{}, audienceIndex, audience); err != nil {
		return nil, err
	}
	list := func() client.ObjectList { return &v1alpha1.ControlPlaneList{} }
	looks := operator.NewFirstLooks(New(c))
	return looks, ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.ControlPlane{}).WithOptions(operator.Parallel()).
		Watches(&v1alpha1.Machine{}, ofMachine(), moved()).
		Watches(&v1alpha1.Organization{}, ofOrganization(c.Client), builder.WithPredicates(allowsOtherwise())).
		WatchesRawSource(from.Components.ByIndex(c.Client, operator.UIDIndex, list)).
		WatchesRawSource(from.Credentials.ByIndex(c.Client, audienceIndex, list)).Complete(looks)
}

func setupReleases(ctx context.Context, mgr ctrl.Manager, c Config, log *slog.Logger) error {
	fetched := operator.NewNotices()
	releases := NewReleaseReconciler(ctx, ReleaseConfig{
		Client: c.Client, Store: c.Releases, Retry: fetchRetry, Recorder: c.Recorder, Notify: fetched.Send, Log: log,
	})
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Release{}).WatchesRawSource(fetched.ByName()).Complete(releases)
}

// Rules are what the reconcilers of this package need on the admin plane.
func Rules() []rbacv1.PolicyRule {
	rules := append(operator.Rules("controlplanes"), operator.Rules("datastores")...)
	return append(append(rules, operator.Rules("releases")...),
		operator.Rule(v1alpha1.GroupVersion.Group, []string{"organizations", "machines"}, "get", "list", "watch"),
		operator.Rule("", []string{"secrets"}, "get", "list", "create", "update", "patch", "delete"),
	)
}
