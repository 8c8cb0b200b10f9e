package collector

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kqueen.io/kqueen/internal/clusters/inventory"
	"kqueen.io/kqueen/internal/clusters/listing"
)

// session watches one cluster with one credential. Its goroutines end with the context of run.
type session struct {
	connect func(context.Context) (*rest.Config, error)
	hosted  func(context.Context) []inventory.Item
	store   Store
	now     func() time.Time
	log     *slog.Logger
	limits  Limits
	turns   *turns
	count   *measures

	kinds  []*resourceKind
	ledger *ledger
	state  *state
	rate   *rate.Limiter
	full   chan struct{}            // says that a batch is full
	page   chan struct{}            // has a value while a page is read
	relist map[string]chan struct{} // by resource

	mu      sync.Mutex
	cluster inventory.Cluster
	renamed bool          // the store has to be told what the Cluster object says
	flushed chan struct{} // closed when the store has taken a batch
	version string        // of the API server
	probed  bool
}

func newSession(c *Collector, cluster inventory.Cluster) *session {
	kinds := resourceKinds(c.config.Secrets)
	s := &session{
		store: c.config.Store, now: c.config.Now, limits: c.config.Limits, turns: c.turns, count: c.measures, cluster: cluster, kinds: kinds,
		log: c.config.Log.With("organization", cluster.Organization, "cluster", cluster.Name), ledger: newLedger(kinds, c.config.Limits.Bytes), state: newState(kinds),
		rate: rate.NewLimiter(rate.Limit(c.config.Limits.Changes), 10*c.config.Limits.Changes), full: make(chan struct{}, 1), page: make(chan struct{}, 1),
		relist: map[string]chan struct{}{}, flushed: make(chan struct{}),
	}
	for _, r := range kinds {
		s.relist[r.name] = make(chan struct{}, 1)
	}
	return s
}

// run watches until the context ends.
func (s *session) run(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { s.tell(ctx) })
	src := s.dial(ctx)
	if src == nil {
		return
	}
	defer src.Close()
	all.Go(func() { s.probe(ctx, src) })
	all.Go(func() { s.measure(ctx, src) })
	var first sync.WaitGroup
	for _, r := range s.kinds {
		if !r.first {
			continue
		}
		first.Add(1)
		all.Go(func() { s.follow(ctx, src, r, sync.OnceFunc(first.Done)) })
	}
	first.Wait()
	for _, r := range s.kinds {
		if !r.first {
			all.Go(func() { s.follow(ctx, src, r, func() {}) })
		}
	}
	all.Wait() // before the connections are closed
}

// dial makes the connections, again and again. It returns nil when the context has ended.
func (s *session) dial(ctx context.Context) *source {
	for pause := s.backoff(); ; {
		config, err := s.connect(ctx)
		if err == nil {
			var src *source
			if src, err = newSource(config, s.limits); err == nil {
				s.state.clear("connection")
				return src
			}
		}
		s.state.trouble("connection", fmt.Errorf("connect: %w", err))
		if !after(ctx, pause.Step()) {
			return nil
		}
	}
}

func (s *session) backoff() *wait.Backoff {
	return &wait.Backoff{Duration: s.limits.Pause, Factor: 2, Jitter: 0.5, Steps: 16, Cap: 40 * s.limits.Pause}
}

// after waits; false when the context ended first.
func after(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// follow lists a resource and watches it, over and over. tried is called when the first list has ended, well or not.
func (s *session) follow(ctx context.Context, src *source, r *resourceKind, tried func()) {
	defer tried()
	for pause := s.backoff(); ctx.Err() == nil; {
		select {
		case <-s.state.reachable():
		case <-ctx.Done():
			return
		}
		version, err := s.list(ctx, src, r)
		tried()
		if err == nil {
			pause = s.backoff()
			err = s.watch(ctx, src, r, version)
		}
		if ctx.Err() != nil {
			return
		}
		again := pause.Step()
		switch {
		case err == nil || errors.Is(err, listing.ErrExpired):
		case skips(err):
			s.state.skip(r.name, err)
			again = s.limits.Again/2 + again
		default:
			s.state.trouble(r.name, err)
		}
		if !after(ctx, again) {
			return
		}
	}
}

// skips says whether an error means that a kind cannot be read, as long as nothing changes in the cluster, while all others can.
func skips(err error) bool {
	return errors.Is(err, listing.ErrForbidden) || errors.Is(err, listing.ErrAbsent) || errors.Is(err, listing.ErrTooMany) || errors.Is(err, errTooMuch)
}

// list reads a resource whole. One that the cluster does not have is empty.
func (s *session) list(ctx context.Context, src *source, r *resourceKind) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*s.limits.Call) // its turns are waited for, too
	defer cancel()
	in := s.ledger.begin(r)
	turn := func(ctx context.Context) (func(), error) {
		if err := s.drained(ctx); err != nil {
			return nil, err
		}
		return s.turn(ctx)
	}
	version, err := src.list(ctx, r, turn, func(raw []byte) error { return s.ledger.take(r, raw, in) })
	if err != nil && !errors.Is(err, listing.ErrAbsent) {
		s.ledger.fail(r)
		return "", err
	}
	again, failed := s.ledger.finish(r, in)
	if failed != nil {
		return "", failed
	}
	for _, name := range again {
		s.askRelist(name)
	}
	if err == nil {
		s.state.clear(r.name)
	}
	s.wake()
	return version, err
}

// turn waits until the cluster may read a page, and returns what ends that.
func (s *session) turn(ctx context.Context) (func(), error) {
	select {
	case s.page <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release, err := s.turns.take(ctx, s.state.suspect())
	if err != nil {
		<-s.page
		return nil, err
	}
	return func() {
		release()
		<-s.page
	}, nil
}

func (s *session) askRelist(name string) {
	select {
	case s.relist[name] <- struct{}{}:
	default:
	}
}

// watch follows a resource until it has to be listed again.
func (s *session) watch(ctx context.Context, src *source, r *resourceKind, version string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.relist[r.name]:
			cancel()
		case <-stop:
		}
	}()
	for pause := s.backoff(); ; {
		began := time.Now()
		next, err := src.watch(ctx, r, version, func() { s.state.clear(r.name) }, func(ctx context.Context, f frame) error { return s.frame(ctx, r, f) })
		version = next
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, listing.ErrExpired) || skips(err):
			return err
		case err != nil:
			s.state.trouble(r.name, err)
		case time.Since(began) > s.limits.Idle/2:
			pause = s.backoff()
			continue // it has ended as it was asked to
		}
		if !after(ctx, pause.Step()) {
			return nil
		}
	}
}

// frame takes one event of a watch, at no higher rate than a cluster may have, and when the store can take more.
func (s *session) frame(ctx context.Context, r *resourceKind, f frame) error {
	if f.Type == bookmark {
		return nil
	}
	if err := s.rate.Wait(ctx); err != nil {
		return err
	}
	if err := s.drained(ctx); err != nil {
		return err
	}
	var err error
	switch f.Type {
	case added, modified:
		if s.ledger.size(r) > s.limits.Objects {
			return listing.ErrTooMany
		}
		err = s.ledger.take(r, f.Object, nil)
	case deleted:
		err = s.ledger.remove(r, f.Object)
	}
	if s.ledger.waiting() >= s.limits.Batch {
		s.wake()
	}
	return err
}

// wake has the store told now.
func (s *session) wake() {
	select {
	case s.full <- struct{}{}:
	default:
	}
}

// drained waits while there is more for the store than is held at most.
func (s *session) drained(ctx context.Context) error {
	for {
		s.mu.Lock()
		flushed := s.flushed
		s.mu.Unlock()
		if s.ledger.waiting() < 4*s.limits.Batch {
			return nil
		}
		s.wake()
		select {
		case <-flushed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// probe asks the API server for its version, over and over: it shows that the cluster can be reached, while nothing changes in it.
func (s *session) probe(ctx context.Context, src *source) {
	for {
		var said struct {
			GitVersion string `json:"gitVersion"`
		}
		began := s.now()
		shown, err := src.get(ctx, "/version", func(r io.Reader) error { return json.NewDecoder(r).Decode(&said) }, 64<<10)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !skips(err):
			s.state.trouble(version, err)
		case err != nil: // it answers
			s.state.skip(version, err)
			s.mu.Lock()
			s.probed = true
			s.mu.Unlock()
			s.state.proved(began)
		default:
			s.mu.Lock()
			s.version, s.probed = said.GitVersion, true
			s.mu.Unlock()
			if len(shown) > 0 {
				err = s.ledger.derive(&ofCluster, "certificate", shownItems(shown))
			}
			if err == nil {
				s.state.proved(began)
			}
		}
		if !after(ctx, s.limits.Probe) {
			return
		}
	}
}

// measure reads the API server's metrics, over and over.
func (s *session) measure(ctx context.Context, src *source) {
	for pause := s.backoff(); ; {
		var items []inventory.Item
		_, err := src.get(ctx, "/metrics", func(r io.Reader) (err error) {
			items, err = deprecatedAPIs(r)
			return err
		}, s.limits.MetricsBytes)
		if err == nil {
			err = s.ledger.derive(&ofMetrics, "deprecated", items)
		}
		next := s.limits.Metrics
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			s.ledger.settle(&ofMetrics)
			s.state.clear("metrics")
			pause = s.backoff()
		default:
			s.state.skip("metrics", err) // what they say is extra: no cluster is lost for it
			next = min(next, s.limits.Again)
			if !skips(err) {
				next = min(next, pause.Step())
			}
		}
		if !after(ctx, next) {
			return
		}
	}
}
