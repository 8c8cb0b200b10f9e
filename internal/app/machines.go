//go:build linux

package app

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/hosting/release"
	"kqueen.io/kqueen/internal/platform/kube"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/machine/local"
	"kqueen.io/kqueen/internal/workers/machine/local/guest"
	"kqueen.io/kqueen/internal/workers/machine/manual"
	"kqueen.io/kqueen/internal/workers/machinecontroller"
	"kqueen.io/kqueen/internal/workers/nodepool"
)

// localMachines finds the machines on this host.
func (a *App) localMachines(ctx context.Context) (*local.Provider, error) {
	ports := supervise.DefaultPorts()
	return local.New(ctx, local.Config{
		Runner:    a.runner,
		Releases:  release.NewStore(a.Releases),
		Program:   a.Program,
		Range:     a.MachineNetwork,
		Listen:    a.Listen,
		HostPorts: guest.PortRange{First: ports.First, Last: ports.Last},
		Images:    imagesDir(a.Dir),
		InUse:     local.HostNetworks,
		Pause:     a.pause(),
	})
}

// resourcesOf writes a size as the API does.
func resourcesOf(s machine.Size) v1alpha1.MachineResources {
	return v1alpha1.MachineResources{CPU: resource.NewMilliQuantity(s.MilliCPU, resource.DecimalSI), Memory: resource.NewQuantity(s.Memory, resource.BinarySI)}
}

// addWorkers adds the reconcilers of NodePool and Machine.
func (a *App) addWorkers(ctx context.Context, mgr ctrl.Manager, here *local.Provider) error {
	c, direct, recorder := mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("kqueen")
	index := func(o client.Object) []string { return []string{string(o.GetUID())} }
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Machine{}, uidIndex, index); err != nil {
		return err
	}
	access := clusters{kube.NewRemotes(direct, mgr.GetScheme(), a.Version)}
	prepares := &preparer{clusters: access, releases: release.NewStore(a.Releases), from: a.Images, done: map[types.UID]prepared{}}
	pools := nodepool.New(nodepool.Config{Client: c, Reader: direct, Prepare: prepares.prepare, Now: time.Now, Recorder: recorder})
	err := ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.NodePool{}).Owns(&v1alpha1.Machine{}).
		Watches(&v1alpha1.Cluster{}, handler.EnqueueRequestsFromMapFunc(nodepool.PoolsOf(c))).
		WithOptions(options()).Complete(pools)
	if err != nil {
		return err
	}
	workers := machinecontroller.New(machinecontroller.Config{
		Client: c, Reader: direct, Clusters: access, Recorder: recorder, Now: time.Now,
		Providers: map[string]machine.Provider{
			v1alpha1.ProviderLocal:  here,
			v1alpha1.ProviderManual: manual.New(manual.Config{Reachable: advertiseAddress(a.Listen) != machine.NoAddress()}),
		},
	})
	return ctrl.NewControllerManagedBy(mgr).For(&v1alpha1.Machine{}).
		Watches(&v1alpha1.Cluster{}, machinesOf(c, machinecontroller.OfCluster)).
		Watches(&v1alpha1.Machine{}, machinesOf(c, machinecontroller.Peers), builder.WithPredicates(moved())).
		WatchesRawSource(source.Channel(a.wakes.machines, byUID[*v1alpha1.Machine](a, c, func() client.ObjectList { return &v1alpha1.MachineList{} }))).
		WithOptions(options()).Complete(workers)
}

// machinesOf finds the machines of the object's namespace that choose picks.
func machinesOf[T client.Object](c client.Reader, choose func([]v1alpha1.Machine, T) []reconcile.Request) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
		list := &v1alpha1.MachineList{}
		// It fails only when the cache is not there yet, and then every machine is looked at anyhow.
		if err := c.List(ctx, list, client.InNamespace(o.GetNamespace())); err != nil {
			return nil
		}
		return choose(list.Items, o.(T))
	})
}

// moved lets pass what a machine's peers have to know.
func moved() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return machinecontroller.Moved(e.ObjectOld.(*v1alpha1.Machine), e.ObjectNew.(*v1alpha1.Machine))
		},
	}
}
