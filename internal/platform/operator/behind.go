package operator

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// cacheWait is the time between two looks at a cache that is behind. It mostly is for a few milliseconds.
const cacheWait = 20 * time.Millisecond

// wrote remembers what a run has written of an object.
func (r *Reconciler[T]) wrote(req reconcile.Request, obj client.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written[req] = obj.GetResourceVersion()
}

// behind says whether an object is older than what the run before has written of it, as in a cache that has not heard of that yet. Phases
// would do again what their status says is done: a restore would write once more, beside the control plane that it has started.
func (r *Reconciler[T]) behind(req reconcile.Request, obj client.Object) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	written, is := r.written[req]
	if !is {
		return false
	}
	if order, err := resourceversion.CompareResourceVersion(obj.GetResourceVersion(), written); err == nil && order < 0 {
		return true
	}
	delete(r.written, req)
	return false
}

// gone forgets what was written of an object that is no more.
func (r *Reconciler[T]) gone(req reconcile.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.written, req)
}
