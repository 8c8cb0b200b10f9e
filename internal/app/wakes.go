//go:build linux

package app

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/engine"
)

// uidIndex finds a ControlPlane or a Machine by its UID, which is all that the runner knows of it.
const uidIndex = "metadata.uid"

// wakeQueue is how many wakes may wait. Beyond it one is dropped, which costs no more than the time
// until the reconciler's own next look.
const wakeQueue = 4096

// wakes brings what happens outside the API to those who wait for it.
type wakes struct {
	engine        engine.Engine
	own           chan struct{} // the engine's workloads
	controlPlanes chan event.TypedGenericEvent[*v1alpha1.ControlPlane]
	machines      chan event.TypedGenericEvent[*v1alpha1.Machine]
	releases      chan event.TypedGenericEvent[*v1alpha1.Release]
}

func newWakes(e engine.Engine) *wakes {
	return &wakes{
		engine:        e,
		own:           make(chan struct{}, 1),
		controlPlanes: make(chan event.TypedGenericEvent[*v1alpha1.ControlPlane], wakeQueue),
		machines:      make(chan event.TypedGenericEvent[*v1alpha1.Machine], wakeQueue),
		releases:      make(chan event.TypedGenericEvent[*v1alpha1.Release], wakeQueue),
	}
}

// changed takes the runner's word that a component's state changed. It does not block.
func (w *wakes) changed(id string) {
	if engine.Owns(w.engine, id) {
		select {
		case w.own <- struct{}{}:
		default:
		}
		return
	}
	// The runner does not know what it runs: whoever has an object of that UID finds it.
	uid := metav1.ObjectMeta{UID: types.UID(id)}
	select {
	case w.controlPlanes <- event.TypedGenericEvent[*v1alpha1.ControlPlane]{Object: &v1alpha1.ControlPlane{ObjectMeta: uid}}:
	default:
	}
	select {
	case w.machines <- event.TypedGenericEvent[*v1alpha1.Machine]{Object: &v1alpha1.Machine{ObjectMeta: uid}}:
	default:
	}
}

// controlPlane takes word that there is something new about a control plane that is not in the admin plane.
func (w *wakes) controlPlane(uid types.UID) {
	select {
	case w.controlPlanes <- event.TypedGenericEvent[*v1alpha1.ControlPlane]{Object: &v1alpha1.ControlPlane{ObjectMeta: metav1.ObjectMeta{UID: uid}}}:
	default:
	}
}

// fetched takes word that a download has ended.
func (w *wakes) fetched(name string) {
	r := &v1alpha1.Release{ObjectMeta: metav1.ObjectMeta{Name: name}}
	select {
	case w.releases <- event.TypedGenericEvent[*v1alpha1.Release]{Object: r}:
	default:
	}
}

// byUID finds the object that the runner speaks of; newList makes a list of its kind.
func byUID[T client.Object](a *App, c client.Reader, newList func() client.ObjectList) handler.TypedEventHandler[T, reconcile.Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, named T) []reconcile.Request {
		list := newList()
		if err := c.List(ctx, list, client.MatchingFields{uidIndex: string(named.GetUID())}); err != nil {
			a.Log.Warn("find the object of a workload", "workload", named.GetUID(), "error", err)
			return nil
		}
		var requests []reconcile.Request
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
			return nil
		})
		return requests
	})
}
