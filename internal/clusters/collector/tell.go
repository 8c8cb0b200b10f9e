package collector

import (
	"context"
	"reflect"
	"time"

	"kqueen.io/kqueen/internal/clusters/inventory"
)

// tell hands what was gathered to the store, and says how the cluster is, until the context ends.
func (s *session) tell(ctx context.Context) {
	ticker := time.NewTicker(s.limits.Gather)
	defer ticker.Stop()
	var last told
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.full:
		}
		s.flush(ctx)
		last = s.report(ctx, last)
	}
}

// flush hands a batch to the store. What the store does not take is handed over the next time, with what was observed since.
func (s *session) flush(ctx context.Context) {
	began := s.now()
	s.mu.Lock()
	cluster, renamed := s.cluster, s.renamed
	s.renamed = false
	s.mu.Unlock()
	err := s.deriveCluster(ctx)
	b := s.ledger.gather()
	b.At = began
	if len(b.kinds) > 0 || renamed {
		if err == nil {
			err = s.store.Apply(ctx, cluster, b.Changes)
		}
		if err != nil {
			s.ledger.restore(b)
			s.mu.Lock()
			s.renamed = s.renamed || renamed
			s.mu.Unlock()
			s.count.storeErrors.Inc()
			if ctx.Err() == nil {
				s.log.Warn("changes of the cluster are kept until the store takes them", "error", err)
			}
			return
		}
		s.count.changes.Add(float64(b.size()))
	}
	s.state.flushed(began)
	s.mu.Lock()
	close(s.flushed)
	s.flushed = make(chan struct{})
	s.mu.Unlock()
}

// deriveCluster observes the components that no object says, once the API server and the pods were asked for.
func (s *session) deriveCluster(ctx context.Context) error {
	s.mu.Lock()
	version, probed := s.version, s.probed
	s.mu.Unlock()
	seen, ever, tried := s.ledger.planes()
	if !probed || !tried {
		return nil
	}
	var hosted []inventory.Item
	if s.hosted != nil {
		hosted = s.hosted(ctx)
	}
	items := clusterComponents(version, hosted, func(part string) bool { return seen[part] }, ever)
	if err := s.ledger.derive(&ofCluster, "components", items); err != nil {
		return err
	}
	s.ledger.settle(&ofCluster)
	return nil
}

// told is what the store was told last of how the cluster is. The zero value is nothing yet.
type told struct {
	any, live bool
	message   string
}

// report tells the store how the cluster is when that has changed, and returns what the store was told last. A session begins with telling
// it: the store may have the message of an earlier one.
func (s *session) report(ctx context.Context, before told) told {
	now := s.state.now()
	after := told{any: true, live: now.live, message: now.message}
	if after == before || !now.live && now.message == "" {
		return before
	}
	call, cancel := context.WithTimeout(ctx, s.limits.Store)
	defer cancel()
	uid := s.uid()
	var err error
	if !before.any || before.message != now.message {
		err = s.store.Lost(call, uid, now.message)
	}
	if err == nil && now.live {
		err = s.store.Confirm(call, now.at, []string{uid})
	}
	if err != nil {
		s.count.storeErrors.Inc()
		return before // and once more
	}
	s.log.Info("the state of the cluster's watches has changed", "live", now.live, "message", now.message)
	return after
}

func (s *session) uid() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cluster.UID
}

// rename takes what the Cluster object says now.
func (s *session) rename(to inventory.Cluster) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if reflect.DeepEqual(s.cluster, to) {
		return
	}
	s.cluster, s.renamed = to, true
}
