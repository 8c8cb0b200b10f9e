//go:build linux

package app

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/all"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/tenancy/organization"
)

// parallel is how many objects of one kind are worked on at once. The work is waiting for the API
// and the store, not computing.
const parallel = 8

// control installs what every installation has and runs the reconcilers.
func (a *App) control(ctx context.Context, plane *engine.Plane, installed []release.Binaries, ready func()) error {
	scheme, err := newScheme()
	if err != nil {
		return fmt.Errorf("make the scheme: %w", err)
	}
	direct, err := kube.Connect(plane.Config, scheme)
	if err != nil {
		return err
	}
	err = stage.Run(ctx, a.Report, "Kinds and first objects", func(ctx context.Context) error {
		return engine.Install(ctx, direct, plane.Store, installed)
	})
	if err != nil {
		return err
	}
	reader := client.Reader(direct)
	a.admin.Store(&reader)
	mgr, err := a.manager(plane.Config, scheme)
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	return a.manage(ctx, plane, mgr, direct, ready)
}

// manage adds everything that runs under the manager, and runs it.
func (a *App) manage(ctx context.Context, plane *engine.Plane, mgr ctrl.Manager, direct client.WithWatch, ready func()) error {
	machines, err := a.localMachines(ctx)
	if err != nil {
		return err
	}
	d, err := a.openDoor(ctx)
	if err != nil {
		return fmt.Errorf("open the door: %w", err)
	}
	defer func() { _ = d.close() }()
	drivers, looks, err := a.addReconcilers(ctx, mgr, d)
	if err != nil {
		return fmt.Errorf("add reconcilers: %w", err)
	}
	if err := a.addWorkers(ctx, mgr, machines); err != nil {
		return fmt.Errorf("add the reconcilers of workers: %w", err)
	}
	if err := a.addProviders(mgr); err != nil {
		return err
	}
	if err := a.sweep(ctx, direct, machines); err != nil {
		return fmt.Errorf("sweep orphans: %w", err)
	}
	admit := &admits{
		cache: mgr.GetClient(), direct: direct, clusters: &cluster.Validator{Client: mgr.GetClient(), Drivers: drivers},
		limits: organization.NewLimits(mgr.GetClient(), time.Now),
	}
	admit.limits.Host = resourcesOf(machines.HostSize())
	if err := a.addDoor(ctx, d, plane, mgr, admit); err != nil {
		return err
	}
	hook := &admissionHook{client: direct, admits: admit, log: a.Log}
	stop, err := hook.serve(ctx)
	if err != nil {
		return fmt.Errorf("serve admission: %w", err)
	}
	defer stop()
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		err := stage.Run(ctx, a.Report, "Reconcilers", func(ctx context.Context) error { return a.serving(ctx, mgr, direct, looks) })
		if err == nil {
			ready()
		}
		return err
	}))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// addDoor lets the door serve as soon as the caches are filled.
func (a *App) addDoor(ctx context.Context, d *door, plane *engine.Plane, mgr ctrl.Manager, admit *admits) error {
	if err := admit.follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := a.assemble(ctx, d, plane.Config, mgr, admit.limits); err != nil {
		return fmt.Errorf("assemble the door: %w", err)
	}
	a.door.Store(d)
	if plane.Audited {
		direct, err := a.planeLog(d)
		if err != nil {
			return err
		}
		if err := mgr.Add(manager.RunnableFunc(direct.Run)); err != nil {
			return err
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return a.serveDoor(ctx, d) }))
}

func (a *App) manager(config *rest.Config, scheme *runtime.Scheme) (ctrl.Manager, error) {
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		// Secrets are read when needed and not kept: they are many, large and secret.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		// Tests start several installations in one process; the names need to be unique in each alone.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
}

// serving waits until the caches are filled, the first provisioner and organization are ready and what
// is said of clusters is true, so that whoever is told "ready" can create and trust.
func (a *App) serving(ctx context.Context, mgr ctrl.Manager, direct client.WithWatch, looks *firstLooks) error {
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("wait for the caches: %w", context.Cause(ctx))
	}
	if err := waitReady(ctx, direct); err != nil {
		return err
	}
	return waitTruth(ctx, direct, looks)
}

func (a *App) addReconcilers(ctx context.Context, mgr ctrl.Manager, d *door) (map[string]provision.Driver, *firstLooks, error) {
	c, secrets := mgr.GetClient(), mgr.GetAPIReader()
	index := func(o client.Object) []string { return []string{string(o.GetUID())} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ControlPlane{}, uidIndex, index); err != nil {
		return nil, nil, err
	}
	drivers := all.Drivers(all.Config{Hosted: hosted.Config{Client: c, Secrets: secrets}})
	releases := release.NewStore(a.Releases)
	stores := controlplane.NewDataStores(c, secrets)
	meter := controlplane.NewMeter(c, stores, a.wakes.controlPlane, a.Log, time.Now)
	if err := mgr.Add(manager.RunnableFunc(meter.Run)); err != nil {
		return nil, nil, err
	}
	over, err := a.addEnded(ctx, mgr, d)
	if err != nil {
		return nil, nil, err
	}
	recorder := mgr.GetEventRecorder("kqueen")

	planes := newFirstLooks(controlplane.New(controlplane.Config{
		Client: c, Secrets: secrets, Stores: stores, Releases: releases, Runner: a.runner, Routes: a.gateway, Ask: kube.Ask,
		Recorder: recorder, Domain: a.Domain, GatewayAddress: a.gatewayAddress(),
		AdvertiseAddress: advertiseAddress(a.Listen), Issuer: d.trust(), Ended: over.of, Tenants: kube.NewRemotes(secrets, mgr.GetScheme(), a.Version), Sizes: meter, Now: time.Now,
	}))
	fetches := controlplane.NewReleaseReconciler(ctx, controlplane.ReleaseConfig{
		Client: c, Store: releases, Retry: time.Minute, Recorder: recorder, Wake: a.wakes.fetched, Log: a.Log,
	})
	clusters := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Cluster{}).WithOptions(options())
	for _, d := range drivers {
		for _, owned := range d.Describe().Owns {
			clusters = clusters.Owns(owned)
		}
	}
	builds := []func() error{
		func() error {
			return clusters.Complete(cluster.New(cluster.Config{Client: c, Secrets: secrets, Drivers: drivers, Recorder: recorder}))
		},
		func() error {
			return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.ControlPlane{}).WithOptions(options()).
				WatchesRawSource(source.Channel(a.wakes.controlPlanes, byUID[*v1alpha1.ControlPlane](a, c, func() client.ObjectList { return &v1alpha1.ControlPlaneList{} }))).Complete(planes)
		},
		func() error {
			return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Release{}).
				WatchesRawSource(source.Channel(a.wakes.releases, &handler.TypedEnqueueRequestForObject[*v1alpha1.Release]{})).Complete(fetches)
		},
		func() error {
			return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.DataStore{}).Complete(controlplane.NewDataStoreReconciler(c, stores, recorder))
		},
		func() error {
			return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Provisioner{}).Complete(cluster.NewProvisionerReconciler(c, drivers, recorder))
		},
		func() error {
			return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Organization{}).Owns(&corev1.Namespace{}).
				Owns(&rbacv1.RoleBinding{}).Owns(&rbacv1.ClusterRole{}).Owns(&rbacv1.ClusterRoleBinding{}).Complete(organization.New(c, recorder))
		},
	}
	for _, build := range builds {
		if err := build(); err != nil {
			return nil, nil, err
		}
	}
	return drivers, planes, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}

func options() controller.Options { return controller.Options{MaxConcurrentReconciles: parallel} }
