package gateway

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/operator"
)

// Routes keeps a gateway's routes as the statuses of ControlPlanes have them. It is a reconciler that writes nothing to the
// API, so that it runs on every replica of KQueen, whichever of them reconciles control planes.
type Routes struct {
	Table *Table
	// Client reads ControlPlanes, from a cache.
	Client client.Reader
	// Name is the server name of a control plane. The one in a status is not asked: it could be that of another one.
	Name func(types.NamespacedName) string
	// Self is the address by which statuses name this host although its API servers listen on all addresses: the
	// gateway dials loopback instead, because the host may have no other. The zero Addr is none.
	Self netip.Addr
	// Asleep says how the gateway stands in for a control plane at a port while its cluster sleeps.
	Asleep func(plane, cluster types.UID, port uint16) Asleep
}

// Reconcile sets or removes the route of one control plane. It keeps nothing between two calls.
func (r *Routes) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	name, cp := r.Name(req.NamespacedName), &v1alpha1.ControlPlane{}
	err := r.Client.Get(ctx, req.NamespacedName, cp)
	if client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	if apierrors.IsNotFound(err) {
		return reconcile.Result{}, r.Table.Remove(name)
	}
	to, serves, err := r.route(ctx, r.Client, cp)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !serves {
		return reconcile.Result{}, r.Table.Remove(name)
	}
	log.FromContext(ctx).V(operator.Debug).Info("route", "host", name, "backend", to.Backend, "asleep", to.Asleep != nil)
	return reconcile.Result{}, r.Table.Set(name, to)
}

// route is where connections for a control plane go; false while it has no address.
func (r *Routes) route(ctx context.Context, from client.Reader, cp *v1alpha1.ControlPlane) (Route, bool, error) {
	backend, serves := r.backend(cp)
	if !serves || !cp.Status.Asleep {
		return Route{Backend: backend}, serves, nil
	}
	owner := metav1.GetControllerOf(cp)
	if owner == nil { // nothing would wake it
		return Route{Backend: backend}, true, nil
	}
	asleep := r.Asleep(cp.UID, owner.UID, backend.Port())
	machines := &v1alpha1.MachineList{}
	if err := from.List(ctx, machines, client.InNamespace(cp.Namespace)); err != nil {
		return Route{}, false, fmt.Errorf("list the machines of cluster %s: %w", cp.Name, err)
	}
	for i := range machines.Items {
		m := &machines.Items[i]
		if address, err := netip.ParseAddr(m.Status.Address); err == nil && m.Spec.ClusterName == cp.Name {
			asleep.Nodes = append(asleep.Nodes, address)
		}
	}
	slices.SortFunc(asleep.Nodes, netip.Addr.Compare)
	return Route{Backend: backend, Asleep: &asleep}, true, nil
}

// backend is where an API server is dialled; false while it has no address, and for a copy, which is no user's to call. It is pure.
func (r *Routes) backend(cp *v1alpha1.ControlPlane) (netip.AddrPort, bool) {
	e := cp.Status.Endpoint
	if cp.IsCopy() || e == nil || e.Port < 1 || e.Port > 65535 {
		return netip.AddrPort{}, false
	}
	addr, err := netip.ParseAddr(e.Address)
	if err != nil {
		return netip.AddrPort{}, false
	}
	if addr == r.Self {
		addr = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.AddrPortFrom(addr, uint16(e.Port)), true
}

// Restore makes the table what the statuses of all control planes say, before the first of them is reconciled: what went
// while KQueen did not run is never reconciled, and a table that was lost is back in one step.
func (r *Routes) Restore(ctx context.Context, direct client.Reader) error {
	planes := &v1alpha1.ControlPlaneList{}
	if err := direct.List(ctx, planes); err != nil {
		return fmt.Errorf("list control planes: %w", err)
	}
	routes := map[string]Route{}
	for i := range planes.Items {
		to, serves, err := r.route(ctx, direct, &planes.Items[i])
		if err != nil {
			return err
		}
		if serves {
			routes[r.Name(client.ObjectKeyFromObject(&planes.Items[i]))] = to
		}
	}
	return r.Table.Replace(routes)
}

// Setup adds r to mgr. Wait on what it returns before users are told that their clusters can be reached.
func (r *Routes) Setup(mgr ctrl.Manager) (*operator.FirstLooks, error) {
	looks := operator.NewFirstLooks(r)
	return looks, ctrl.NewControllerManagedBy(mgr).Named("gateway").For(&v1alpha1.ControlPlane{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).Complete(looks)
}

// Rules are what Routes needs on the admin plane.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{operator.Rule(v1alpha1.GroupVersion.Group, []string{"controlplanes", "machines"}, "get", "list", "watch")}
}
