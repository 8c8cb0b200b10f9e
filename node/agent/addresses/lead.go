package addresses

import (
	"context"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
)

// lease is the Lease of the agent that gives addresses, in kube-system.
const lease = "kqueen-load-balancer"

// The times of the Lease. Giving an address is not urgent, and every agent of a cluster asks the API server that often.
const (
	leaseFor   = 60 * time.Second
	renewUntil = 40 * time.Second
	retryEvery = 10 * time.Second
)

// leadership says whether this agent gives addresses.
type leadership struct{ is atomic.Bool }

func (l *leadership) held() bool { return l.is.Load() }

// lead takes part in the election until the context ends.
func (a *agent) lead(ctx context.Context) {
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: lease},
		Client:     a.Client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: a.Node},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: leaseFor, RenewDeadline: renewUntil, RetryPeriod: retryEvery, ReleaseOnCancel: true, Name: lease,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { a.leader.is.Store(true); a.queue.Add(struct{}{}) },
			OnStoppedLeading: func() { a.leader.is.Store(false) },
		},
	})
	if err != nil {
		klog.ErrorS(err, "This agent gives no addresses") // only constants are checked
		return
	}
	wait.UntilWithContext(ctx, elector.Run, retryEvery)
}
