package gateway

import (
	"context"
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
)

// Ports of a cluster's ingress controller.
const (
	tlsPort = 443
	// PlainPort is for [Process], where it is the ingress gateway.
	PlainPort uint16 = 80
)

// Applications keeps a gateway's routes to the applications in clusters, as the statuses of Clusters have them. Like [Routes] it
// writes nothing to the API.
type Applications struct {
	Table *Table
	// Client reads Clusters, from a cache.
	Client client.Reader
	// Domains are those of a cluster's applications. Those in a status are not asked: they could be those of another one.
	Domains func(types.NamespacedName) []string
	// Owns says whether an address is the cluster's now, by what from has of machines: the one in a status is of the last look at the
	// cluster, and may be another tenant's since.
	Owns func(ctx context.Context, from client.Reader, c *v1alpha1.Cluster, address netip.Addr) (bool, error)
}

// Reconcile sets or removes the routes of one cluster. It keeps nothing between two calls.
func (a *Applications) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &v1alpha1.Cluster{}
	if err := client.IgnoreNotFound(a.Client.Get(ctx, req.NamespacedName, c)); err != nil {
		return reconcile.Result{}, err
	}
	backend, answers, err := a.ingressOf(ctx, a.Client, c)
	if err != nil {
		return reconcile.Result{}, err
	}
	for _, domain := range a.Domains(req.NamespacedName) {
		change := a.Table.Remove
		if answers {
			change = func(host string) error { return a.Table.Set(host, Route{Backend: backend}) }
		}
		if err := change("*." + domain); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// ingressOf is where the ingress controller of a cluster is dialled; false while it has no address.
func (a *Applications) ingressOf(ctx context.Context, from client.Reader, c *v1alpha1.Cluster) (netip.AddrPort, bool, error) {
	// The addresses of a cluster that goes are soon another one's.
	if c.Status.Ingress == nil || !c.DeletionTimestamp.IsZero() {
		return netip.AddrPort{}, false, nil
	}
	address, err := netip.ParseAddr(c.Status.Ingress.Address)
	if err != nil {
		return netip.AddrPort{}, false, nil //nolint:nilerr // it is empty while the cluster has none
	}
	own, err := a.Owns(ctx, from, c, address)
	return netip.AddrPortFrom(address, tlsPort), own, err
}

// Restore makes the table what the statuses of all clusters say, before the first of them is reconciled.
func (a *Applications) Restore(ctx context.Context, direct client.Reader) error {
	clusters := &v1alpha1.ClusterList{}
	if err := direct.List(ctx, clusters); err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	routes := map[string]Route{}
	for i := range clusters.Items {
		backend, answers, err := a.ingressOf(ctx, direct, &clusters.Items[i])
		if err != nil {
			return err
		}
		if !answers {
			continue
		}
		for _, domain := range a.Domains(client.ObjectKeyFromObject(&clusters.Items[i])) {
			routes["*."+domain] = Route{Backend: backend}
		}
	}
	return a.Table.Replace(routes)
}

// Setup adds a to mgr. A cluster is also looked at when one of its machines comes, goes or gets another address.
func (a *Applications) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("applications").For(&v1alpha1.Cluster{}).
		Watches(&v1alpha1.Machine{}, handler.EnqueueRequestsFromMapFunc(clusterOfMachine)).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).Complete(a)
}

// clusterOfMachine is the cluster of a machine.
func clusterOfMachine(_ context.Context, o client.Object) []reconcile.Request {
	m, ok := o.(*v1alpha1.Machine)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: m.Namespace, Name: m.Spec.ClusterName}}}
}
