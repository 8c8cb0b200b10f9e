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
}

// Reconcile sets or removes the routes of one cluster. It keeps nothing between two calls.
func (a *Applications) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	c := &v1alpha1.Cluster{}
	if err := client.IgnoreNotFound(a.Client.Get(ctx, req.NamespacedName, c)); err != nil {
		return reconcile.Result{}, err
	}
	backend, answers := ingressOf(c)
	for _, domain := range a.Domains(req.NamespacedName) {
		change := a.Table.Remove
		if answers {
			change = func(host string) error { return a.Table.Set(host, backend) }
		}
		if err := change("*." + domain); err != nil {
			return reconcile.Result{}, err
		}
	}
	return reconcile.Result{}, nil
}

// ingressOf is where the ingress controller of a cluster is dialled; false while it has no address. It is pure.
func ingressOf(c *v1alpha1.Cluster) (netip.AddrPort, bool) {
	// The addresses of a cluster that goes are soon another one's.
	if c.Status.Ingress == nil || !c.DeletionTimestamp.IsZero() {
		return netip.AddrPort{}, false
	}
	address, err := netip.ParseAddr(c.Status.Ingress.Address)
	return netip.AddrPortFrom(address, tlsPort), err == nil
}

// Restore makes the table what the statuses of all clusters say, before the first of them is reconciled.
func (a *Applications) Restore(ctx context.Context, direct client.Reader) error {
	clusters := &v1alpha1.ClusterList{}
	if err := direct.List(ctx, clusters); err != nil {
		return fmt.Errorf("list clusters: %w", err)
	}
	routes := map[string]netip.AddrPort{}
	for i := range clusters.Items {
		if backend, answers := ingressOf(&clusters.Items[i]); answers {
			for _, domain := range a.Domains(client.ObjectKeyFromObject(&clusters.Items[i])) {
				routes["*."+domain] = backend
			}
		}
	}
	return a.Table.Replace(routes)
}

// Setup adds a to mgr.
func (a *Applications) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("applications").For(&v1alpha1.Cluster{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).Complete(a)
}
