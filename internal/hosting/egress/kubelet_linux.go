package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/share"
)

const (
	// kubeletAway is how long calls wait for a kubelet that refuses connections: it is started again within a second or two.
	kubeletAway = 5 * time.Second
	// kubeletKnows is the time between a kubelet's opening its port and its having heard of its pods, for which it asks a second
	// later at the earliest (upstream's WaitForAPIServerSyncPeriod). Until then it answers that they do not exist. On a busy host two seconds
	// were too few.
	kubeletKnows = 4 * time.Second
	// kubeletTry is the time between two looks at a port that is closed.
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
	life               context.Context // of the server
	dial               Dial
	away, knows, again time.Duration
	waiting            *share.Shares
	looks              sync.WaitGroup

	mu   sync.Mutex
	back map[kubelet]chan struct{} // closed when a kubelet is back, or is waited for no more
}

func newRestarts(life context.Context, dial Dial) *restarts {
	return &restarts{
		life: life, dial: dial, away: kubeletAway, knows: kubeletKnows, again: kubeletTry,
		waiting: share.New(maxWaiting, maxWaitingOfOne, sureWaiting), back: map[kubelet]chan struct{}{},
	}
}

// isAway says whether calls wait for a kubelet now.
func (r *restarts) isAway(k kubelet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.back[k] != nil
}

// wait returns when a kubelet that has refused a connection is back, has refused for too long, or ctx ends, and at once when too many
// calls wait already.
func (r *restarts) wait(ctx context.Context, k kubelet) {
	leave := r.waiting.Take(k.cluster)
	if leave == nil {
		return
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
	case <-back:
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
		select {
		case <-r.life.Done():
		case <-time.After(r.knows):
		}
	}
}

// opens says whether a port that refuses connections takes one in time.
func (r *restarts) opens(target netip.AddrPort) bool {
	ctx, cancel := context.WithTimeout(r.life, r.away)
	defer cancel()
	tick := time.NewTicker(r.again)
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
	s.restarts.wait(ctx, k)
	// Meanwhile the address may have become one that this API server does not call.
	if _, err := s.route(name, target); err != nil {
		return nil, err
	}
	return s.direct(ctx, target)
}
