package volumes

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// task is what is done beside answering claims. Each is level-triggered: it looks at everything and does what is left to do.
type task string

const (
	// announce tells the scheduler what the node has left.
	announce task = "announce"
	// sweep compares folders with the cluster, looks for what waits for nodes that are gone, and announces what another deleted.
	sweep task = "sweep"
)

// work does one task after the other until the queue is shut down.
func (a *agent) work(ctx context.Context, queue workqueue.TypedRateLimitingInterface[task]) {
	for {
		next, shutdown := queue.Get()
		if shutdown {
			return
		}
		if err := a.do(ctx, next); err != nil {
			klog.FromContext(ctx).Error(err, "Will be tried again", "task", next)
			queue.AddRateLimited(next)
		} else {
			queue.Forget(next)
			if next == sweep {
				// The agents of a cluster start together and must not ask together.
				queue.AddAfter(sweep, sweepEvery+rand.N(time.Minute)) //nolint:gosec // spreads load, guards nothing
			}
		}
		queue.Done(next)
	}
}

func (a *agent) do(ctx context.Context, next task) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if next == announce {
		return a.announce(ctx)
	}
	return errors.Join(a.announce(ctx), a.sweepStranded(ctx), a.sweepFolders(ctx, time.Now()))
}
