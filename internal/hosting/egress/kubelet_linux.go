package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/share"
)

const (
	// kubeletAway is how long a kubelet is waited for that refuses connections: it is started again within a second or two, and on a
	// busy host within more.
	kubeletAway = 20 * time.Second
	// kubeletKnows is how long it is waited for after that until it knows its pods, which its machine says. It hears of them a second after it has
	// opened its port at the earliest (upstream's WaitForAPIServerSyncPeriod), 16 seconds were seen on a busy host, and until then it answers that
	// they do not exist. This is longer than a call may wait: one that comes late need not fail because the first one has.
	kubeletKnows = time.Minute
	// kubeletLearns is how long a kubelet is given for that whose machine cannot be asked.
	kubeletLearns = 4 * time.Second
	// kubeletTry is the time between two looks at a port that is closed, and between two questions.
	kubeletTry = 100 * time.Millisecond
)

// Calls that wait for kubelets: of all clusters, of one cluster, and of each cluster in any case.
const maxWaiting, maxWaitingOfOne, sureWaiting = 1024, 256, 16

// kubelet is one machine's, as the API server of one cluster calls it.
type kubelet struct {
	cluster string
	target  netip.AddrPort
}

// restarts has calls wait while a kubelet starts again. However many they are, one look at its port serves all.
type restarts struct {
	life    context.Context // of the server
	dial    Dial
	asked   func(context.Context, kubelet) error // nil when the kubelet knows its pods, errNotYet, or that nothing says it
	waiting *share.Shares
	looks   sync.WaitGroup

	mu   sync.Mutex
	back map[kubelet]chan struct{} // closed when a kubelet is back, or is waited for no more
}

func newRestarts(life context.Context, dial Dial, asked func(context.Context, kubelet) error) *restarts {
	return &restarts{
		life: life, dial: dial, asked: asked,
		waiting: share.New(maxWaiting, maxWaitingOfOne, sureWaiting), back: map[kubelet]chan struct{}{},
	}
}

// isAway says whether calls wait for a kubelet now.
func (r *restarts) isAway(k kubelet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back[k] != nil
}

// wait returns when a kubelet that has refused a connection is back or has taken too long, and at once when too many calls wait already. It is
// an error when ctx ends first.
func (r *restarts) wait(ctx context.Context, k kubelet) error {
	leave := r.waiting.Take(k.cluster)
	if leave == nil {
		return nil
	}
	defer leave()
	r.mu.Lock()
	back := r.back[k]
	if back == nil {
		back = make(chan struct{})
		r.back[k] = back
		r.looks.Go(func() { r.look(k, back) })
	}
	r.mu.Unlock()
	select {
	case <-ctx.Done():
		return fmt.Errorf("the kubelet at %s is starting and does not answer for its pods yet: %w", k.target, ctx.Err())
	case <-back:
		return nil
	}
}

// look tells who waits when a kubelet is back.
func (r *restarts) look(k kubelet, back chan struct{}) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.back, k)
		close(back)
	}()
	if r.opens(k.target) {
		r.learns(k)
	}
}

// learns returns when a kubelet that has opened its port knows its pods, or has taken too long. It hears of all at once and adds them one after
// the other: a second answer says that it had the time for that.
func (r *restarts) learns(k kubelet) {
	ctx, cancel := context.WithTimeout(r.life, kubeletKnows)
	defer cancel()
	tick := time.NewTicker(kubeletTry)
	defer tick.Stop()
	for known := 0; ; {
		switch err := r.asked(ctx, k); {
		case err == nil && known == 1:
			return
		case err == nil:
			known++
		case !errors.Is(err, errNotYet):
			select {
			case <-r.life.Done():
			case <-time.After(kubeletLearns):
			}
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// opens says whether a port that refuses connections takes one in time.
func (r *restarts) opens(target netip.AddrPort) bool {
	ctx, cancel := context.WithTimeout(r.life, kubeletAway)
	defer cancel()
	tick := time.NewTicker(kubeletTry)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		conn, err := r.dial(ctx, target)
		if err == nil {
			return conn.Close() == nil
		}
		if !errors.Is(err, unix.ECONNREFUSED) {
			return false
		}
	}
}

// dialKubelet connects the API server of an entry with a kubelet of its cluster. When that refuses it, which it does while it starts
// again, the call waits; all other errors are the caller's at once.
func (s *Server) dialKubelet(ctx context.Context, name, cluster string, target netip.AddrPort) (net.Conn, error) {
	k := kubelet{cluster, target}
	if !s.restarts.isAway(k) {
		conn, err := s.direct(ctx, target)
		if !errors.Is(err, unix.ECONNREFUSED) {
			return conn, err
		}
	}
	if err := s.restarts.wait(ctx, k); err != nil {
		return nil, err
	}
	// Meanwhile the address may have become one that this API server does not call.
	if _, err := s.route(name, target); err != nil {
		return nil, err
	}
	return s.direct(ctx, target)
}
