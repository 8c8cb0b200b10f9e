package operator

import (
	"context"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// noticeQueue is how many notices may wait. Beyond it Send drops one, which costs no more than the time until the
// reconciler's own next look.
const noticeQueue = 4096

// Notices tell a controller that something changed outside the admin plane which concerns one of its objects, such as a
// process that ended. They are keys, and the controller finds the objects that belong to each.
type Notices struct {
	keys chan event.TypedGenericEvent[string]
}

// NewNotices returns Notices for one controller.
func NewNotices() *Notices {
	return &Notices{keys: make(chan event.TypedGenericEvent[string], noticeQueue)}
}

// Send does not block.
func (n *Notices) Send(key string) {
	select {
	case n.keys <- event.TypedGenericEvent[string]{Object: key}:
	default:
	}
}

// ByName is a source of requests for the cluster-scoped objects whose names are the keys.
func (n *Notices) ByName() source.Source {
	return source.Channel(n.keys, handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, name string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: name}}}
	}))
}

// ByIndex is a source of requests for the objects that a field index has under the keys. newList makes a list of their kind.
func (n *Notices) ByIndex(c client.Reader, index string, newList func() client.ObjectList) source.Source {
	return source.Channel(n.keys, handler.TypedEnqueueRequestsFromMapFunc(func(ctx context.Context, key string) []reconcile.Request {
		list := newList()
		if err := c.List(ctx, list, client.MatchingFields{index: key}); err != nil {
			log.FromContext(ctx).Error(err, "find the object that a notice is about", "index", index, "key", key)
			return nil
		}
		var requests []reconcile.Request
		_ = apimeta.EachListItem(list, func(o runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
			return nil
		})
		return requests
	}))
}

// UIDIndex is a field index by which an object is found whose UID alone is known: a runner knows no more.
const UIDIndex = "metadata.uid"

// IndexUID adds the UIDIndex of a kind.
func IndexUID(ctx context.Context, indexer client.FieldIndexer, kind client.Object) error {
	return indexer.IndexField(ctx, kind, UIDIndex, func(o client.Object) []string { return []string{string(o.GetUID())} })
}
