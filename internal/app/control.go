//go:build linux

package app

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/backupschedule"
	"kqueen.io/kqueen/internal/clusters/cluster"
	"kqueen.io/kqueen/internal/clusters/connection"
	"kqueen.io/kqueen/internal/clusters/provision"
	"kqueen.io/kqueen/internal/clusters/provision/all"
	"kqueen.io/kqueen/internal/clusters/provision/hosted"
	"kqueen.io/kqueen/internal/clusters/provision/imported"
	"kqueen.io/kqueen/internal/clusters/rehearsal"
	"kqueen.io/kqueen/internal/clusters/rotation"
	"kqueen.io/kqueen/internal/clusters/upgrade"
	"kqueen.io/kqueen/internal/engine"
	"kqueen.io/kqueen/internal/hosting/controlplane"
	"kqueen.io/kqueen/internal/hosting/gateway"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/admission"
	"kqueen.io/kqueen/internal/platform/atomicfile"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/operator"
	"kqueen.io/kqueen/internal/platform/stage"
	"kqueen.io/kqueen/internal/server/agents"
	"kqueen.io/kqueen/internal/server/clusterapi"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/oidc"
	"kqueen.io/kqueen/internal/tenancy/audit/kubeaudit"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
	"kqueen.io/kqueen/internal/tenancy/organization"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/nodepool"
	"kqueen.io/kqueen/internal/workers/prepare"
)

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
		return engine.Install(ctx, direct, plane.Store, installed, filepath.Join(a.Dir, backupsDir))
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
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { a.followReleases(ctx, direct, installed); return nil })); err != nil {
		return err
	}
	return a.manage(ctx, plane, mgr, direct, ready)
}

// releasesLook is the time between two looks at which versions are built: those that are built while KQueen runs are offered, too.
const releasesLook = 15 * time.Second

func (a *App) followReleases(ctx context.Context, c client.Client, installed []release.Binaries) {
	ticker := time.NewTicker(releasesLook)
	defer ticker.Stop()
	built := &engine.Built{
		Client: c, List: release.NewStore(a.Releases).List, Known: installed,
		Failed: func(err error) { a.Log.Warn("a release is not offered", "error", err) },
	}
	built.Follow(ctx, ticker.C)
}

// renewed gives reconcilers what the engine has renewed: the keys of the root user of its data store. KQueen's own credentials
// of the admin plane are followed by its clients.
func renewed(ctx context.Context, plane *engine.Plane) error {
	if plane.Store == nil {
		return nil
	}
	scheme, err := newScheme()
	if err != nil {
		return fmt.Errorf("make the scheme: %w", err)
	}
	direct, err := kube.Connect(plane.Config, scheme)
	if err != nil {
		return err
	}
	return engine.InstallStore(ctx, direct, plane.Store)
}

// manage adds everything that runs under the manager, and runs it.
func (a *App) manage(ctx context.Context, plane *engine.Plane, mgr ctrl.Manager, direct client.WithWatch, ready func()) error {
	machines, err := a.localMachines(ctx)
	if err != nil {
		return err
	}
	a.here.Store(machines)
	d, err := a.openAPI(ctx)
	if err != nil {
		return fmt.Errorf("open the API server: %w", err)
	}
	defer func() {
		a.api.Store(nil)
		_ = d.close()
	}()
	drivers := a.drivers(mgr)
	gates := newGates(a, plane.Store)
	reach := clusters{kube.NewRemotes(mgr.GetAPIReader(), mgr.GetScheme(), a.Version)}
	prepares := prepare.New(prepare.Config{Clusters: reach, Settings: mgr.GetClient(), Releases: release.NewStore(a.Releases), Images: a.Images})
	held := newHeld()
	looks, err := a.addReconcilers(ctx, mgr, d, gates, drivers, prepares, held.clusters)
	if err != nil {
		return fmt.Errorf("add reconcilers: %w", err)
	}
	if err := d.addInventory(mgr, a); err != nil {
		return fmt.Errorf("add the inventory: %w", err)
	}
	if err := d.addOwnBackups(mgr, a); err != nil {
		return fmt.Errorf("add backups of the installation: %w", err)
	}
	machineLooks, err := a.addWorkers(ctx, mgr, d, machines, reach, prepares, held.pools)
	if err != nil {
		return fmt.Errorf("add the reconcilers of workers: %w", err)
	}
	if err := a.sweep(ctx, direct, machines, gates); err != nil {
		return fmt.Errorf("sweep orphans: %w", err)
	}
	limits := organization.NewLimits(mgr.GetClient(), direct, time.Now)
	limits.Host, limits.DataStore, limits.PodSecurity = resourcesOf(machines.HostSize()), storeOf(drivers), levelOf(drivers)
	looked := make(chan struct{})
	validator := &cluster.Validator{Client: mgr.GetClient(), Drivers: drivers}
	if err := a.addAPI(ctx, d, plane, mgr, knows{limits, prepares, validator}, looked); err != nil {
		return err
	}
	pools := nodepool.Validator{Possible: map[string]machine.Possible{v1alpha1.ProviderLocal: machines}, Takes: validator.TakesNodes}
	stop, err := a.admit(ctx, direct, plane.WebhookCaller, validators(mgr.GetScheme(), validator, pools, backupschedule.Validator{Client: mgr.GetClient()}, limits, a.MachineNetwork))
	if err != nil {
		return fmt.Errorf("serve admission: %w", err)
	}
	defer stop()
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		err := stage.Run(ctx, a.Report, "Reconcilers", func(ctx context.Context) error { return a.awaitReady(ctx, mgr, direct, looks, machineLooks, held) })
		if err == nil {
			close(looked)
			ready()
		}
		return err
	}))
	if err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// drivers returns all of them, and notes how clusters are reached.
func (a *App) drivers(mgr ctrl.Manager) map[string]provision.Driver {
	guard := &connection.Guard{Allowed: a.ImportAllowed, Own: a.simulation.opens, Machines: a.MachineNetwork}
	a.connections.Store(connection.New(connection.Config{Secrets: mgr.GetAPIReader(), Guard: guard, Agents: a.agents, Version: a.Version}))
	return all.Drivers(all.Config{
		Hosted: hosted.Config{
			Client: mgr.GetClient(), Secrets: mgr.GetAPIReader(), Taken: func() ([]hosted.Taken, error) { return takenRanges(a.Listen, a.MachineNetwork) },
			Wakes: wakes(a),
		},
		Imported: imported.Config{Guard: guard, Agents: a.agents, Version: a.Version},
	})
}

// admit answers the API server, and no other caller when it is known by a certificate, about the resources of the validators.
func (a *App) admit(ctx context.Context, direct client.Client, caller *admission.Caller, validators map[string]http.Handler) (stop func(), err error) {
	certificate, authority, err := webhookKeys()
	if err != nil {
		return nil, err
	}
	hook := &admission.Hook{
		Client: direct, Resources: validators, When: map[string]string{"organizations": organization.AskedAbout},
		Certificate: certificate, Authority: authority, Caller: caller, Log: a.Log,
	}
	return hook.Serve(ctx)
}

// sweep removes what runs here for objects that are gone.
func (a *App) sweep(ctx context.Context, direct client.Reader, machines machine.Provider, gates *gates) error {
	running, err := a.supervisor.List(ctx)
	if err == nil {
		err = gates.sweep(ctx, direct, running)
	}
	if err != nil {
		return err
	}
	running = slices.DeleteFunc(running, func(id string) bool { return owns(a.Engine, id) })
	return controlplane.Sweep(ctx, direct, running, func(ctx context.Context, uid string) error {
		a.Log.Warn("removing a workload whose object is gone", "workload", uid)
		// For a workload that is no machine this is nothing but the runner's Remove.
		_, err := machines.Delete(ctx, machine.Target{Ref: machine.Ref{UID: types.UID(uid)}})
		return err
	})
}

// knows is what the REST API asks beside the admin plane.
type knows struct {
	limits   *organization.Limits
	prepares *prepare.Preparer
	clusters *cluster.Validator
}

// lead is the way by which members reach the API server of an adopted cluster.
func lead(by *connection.Connections) func(context.Context, *v1alpha1.Cluster) (clusterapi.Way, error) {
	return func(ctx context.Context, c *v1alpha1.Cluster) (clusterapi.Way, error) {
		passage, err := by.Through(ctx, c)
		return clusterapi.Way{Server: passage.Server, Transport: passage.Transport, TakesCredentials: !passage.Adopted}, err
	}
}

// addAPI adds the REST API. It answers as soon as the caches are filled and looked is closed: until then a status speaks of an
// earlier life, and a caller that waits for a cluster would be told at once that it is ready. One object that cannot be
// looked at does not keep the API from answering for long.
func (a *App) addAPI(
	ctx context.Context, d *apiServer, plane *engine.Plane, mgr ctrl.Manager, what knows, looked <-chan struct{},
) error {
	if err := what.limits.Follow(ctx, mgr.GetCache()); err != nil {
		return err
	}
	if err := a.assemble(ctx, d, plane.Config, mgr, what); err != nil {
		return fmt.Errorf("assemble the API server: %w", err)
	}
	a.api.Store(d)
	if err := agents.Revoke(ctx, mgr, a.agents); err != nil {
		return err
	}
	if plane.Audited {
		past, err := kubeaudit.New(d.audit, a.auditDir(), d.log)
		if err != nil {
			return err
		}
		if err := mgr.Add(manager.RunnableFunc(past.Run)); err != nil {
			return err
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if !awaitLooked(ctx, looked, a.Log) {
			return nil
		}
		return a.serveAPI(ctx, d)
	}))
}

func (a *App) manager(config *rest.Config, scheme *runtime.Scheme) (ctrl.Manager, error) {
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Logger:  logr.FromSlogHandler(a.Log.Handler()),
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultTransform: cache.TransformStripManagedFields(), ByObject: agents.Watched()},
		// Secrets are read when needed and not kept: they are many, large and secret.
		Client: client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		// Tests start several installations in one process; the names need to be unique in each alone.
		Controller: ctrlconfig.Controller{SkipNameValidation: ptr.To(true)},
	})
}

// addReconcilers adds all but those of workers. What it returns tells when control planes were looked at.
func (a *App) addReconcilers(
	ctx context.Context, mgr ctrl.Manager, d *apiServer, gates controlplane.Gates, drivers map[string]provision.Driver, prepares *prepare.Preparer,
	clusters *operator.Barrier,
) ([]*operator.FirstLooks, error) {
	endings, err := d.endings(ctx, a)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(endings); err != nil {
		return nil, err
	}
	d.ended = endings.Of
	stores := controlplane.NewDataStores(mgr.GetClient(), mgr.GetAPIReader())
	d.stores = stores
	planes, err := controlplane.Setup(ctx, mgr, controlplane.Config{
		Gates: gates, Releases: release.NewStore(a.Releases), Runner: a.planes(), Ask: kube.Ask,
		Domain: a.Domain, GatewayAddress: a.gatewayAddress(), AdvertiseAddress: advertiseAddress(a.Listen),
		EgressAllowed: a.EgressAllowed, EgressClosed: []netip.Prefix{a.MachineNetwork},
		Issuer: d.trust(), Ended: endings.Of, Tenants: kube.NewRemotes(mgr.GetAPIReader(), mgr.GetScheme(), a.Version),
	}, stores, controlplane.Watches{Components: a.notices.controlPlanes, Credentials: a.notices.credentials}, a.Log)
	if err != nil {
		return nil, err
	}
	if err := d.backups(ctx, a, mgr, stores); err != nil {
		return nil, err
	}
	led := upgrades(a.connections.Load(), stores, d.inventory)
	if err := upgrade.Setup(mgr, led); err != nil {
		return nil, err
	}
	if err := rotation.Setup(mgr, rotations(stores, a.connections.Load())); err != nil {
		return nil, err
	}
	if err := rehearsal.Setup(ctx, mgr, rehearsals(mgr, stores, a.connections.Load(), led)); err != nil {
		return nil, err
	}
	routes, err := addRoutes(ctx, a, mgr)
	if err != nil {
		return nil, err
	}
	ingress := &gateway.Applications{
		Table: a.ingress.table, Client: mgr.GetClient(), Domains: applicationDomains(a.Domain), Owns: prepare.OwnsAddress,
	}
	if err := ingress.Restore(ctx, mgr.GetAPIReader()); err != nil {
		return nil, fmt.Errorf("restore the routes to applications: %w", err)
	}
	if err := ingress.Setup(mgr); err != nil {
		return nil, err
	}
	if err := cluster.Setup(ctx, mgr, cluster.Config{Drivers: drivers, Addons: prepares.Addons, Applications: applications(a, prepares), Look: looks(a.connections.Load())}, a.notices.clusters, clusters); err != nil {
		return nil, err
	}
	if err := organization.Setup(mgr, d.access.ServiceAccounts); err != nil {
		return nil, err
	}
	if err := identityprovider.Setup(mgr, oidc.NewClient(time.Now, issuerDeadline).Check); err != nil {
		return nil, err
	}
	return []*operator.FirstLooks{planes, routes}, nil
}

// endingsFile has what NewEndings knew last, in the data directory.
const endingsFile = "endings.json"

// endings knows which sessions and tokens have ended, also while the database cannot be had.
func (d *apiServer) endings(ctx context.Context, a *App) (*access.Endings, error) {
	file := filepath.Join(a.Dir, endingsFile)
	known, err := access.NewEndings(ctx, d.access.Entries, file, a.notices.credentials.Send, d.log)
	if err != nil && d.closed.Load() != nil {
		return nil, &atomicfile.DamagedError{
			Path: file, Problem: "and the database do not say which credentials for clusters have ended: " + err.Error(),
			Remedy: "control planes are left as they are, because they would take those again: restore the database from a backup",
		}
	}
	return known, err
}

// issuerDeadline bounds each call to an issuer.
const issuerDeadline = 10 * time.Second

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return scheme, nil
}
