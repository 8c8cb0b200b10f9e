package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// defaultInterval is the time between two looks for marks. A look is one call to the kernel when nothing was
	// added or removed.
	defaultInterval = 500 * time.Millisecond
	// settled is how long after the directory has changed the marks in it are in place.
	settled = 5 * time.Second
	// reread is how many looks pass until every mark is looked at again, whatever the directory says.
	reread = 20
)

// Server serves the entries of all API servers of a host.
type Server struct {
	// Dir holds a directory for each workload.
	Dir string
	// Leave is closed when another process has taken this one's place: nothing more is accepted, and Run returns when nothing is
	// carried any more. Nil for never.
	Leave <-chan struct{}
	Log   *slog.Logger

	// direct connects from this host; nil for TCP.
	direct Dial
	// interval is that between two looks; zero for the default.
	interval time.Duration

	restarts *restarts

	mu      sync.Mutex
	marks   map[string]known // by the name of the directory
	allowed map[*allowed]bool
}

// Run serves until ctx ends, or until the last connection has ended after it was told to leave.
func (s *Server) Run(ctx context.Context) error {
	s.marks, s.allowed = map[string]known{}, map[*allowed]bool{}
	if s.direct == nil {
		s.direct = direct
	}
	ctx, end := context.WithCancel(ctx)
	s.restarts = newRestarts(ctx, s.direct, s.asked)
	defer s.restarts.looks.Wait()
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	accepting, leave := context.WithCancel(ctx)
	defer leave()
	entries, asked := &errgroup.Group{}, s.Leave
	group.Go(func() error {
		defer leave()
		tick := time.NewTicker(cmp.Or(s.interval, defaultInterval))
		defer tick.Stop()
		var last time.Time
		for look := 0; ; look++ {
			info, err := os.Stat(s.Dir)
			if err != nil {
				return fmt.Errorf("look for clusters: %w", err)
			}
			if look%reread == 0 || info.ModTime().Add(settled).After(last) {
				last = time.Now()
				if err := s.look(ctx, accepting, entries, look%reread == 0); err != nil {
					return err
				}
			}
			select {
			case <-ctx.Done():
				return nil
			case <-asked:
				s.Log.Info("another process accepts connections now; those that there are go on")
				asked = nil
				leave()
				// Marks are followed until the last connection has ended: what is allowed no more is cut.
				group.Go(func() error {
					defer end()
					return entries.Wait()
				})
			case <-tick.C:
			}
		}
	})
	err := group.Wait()
	return errors.Join(err, entries.Wait())
}

// changedMark is the mark of a workload that is new or has changed.
type changedMark struct {
	name string
	at   time.Time
}

// look brings what is served to what the marks say. With all it looks whether its sockets are in their places, too.
func (s *Server) look(ctx, accepting context.Context, entries *errgroup.Group, all bool) error {
	dirs, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("look for clusters: %w", err)
	}
	seen := map[string]bool{}
	var exits, others []changedMark
	for _, dir := range dirs {
		name := dir.Name()
		info, err := os.Stat(filepath.Join(s.Dir, name, MarkFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		seen[name] = true
		if err != nil {
			s.cannot(name, err)
			continue
		}
		k := s.get(name)
		whole := !all || k.cancel == nil || accepting.Err() != nil || !k.lost(filepath.Join(s.Dir, name))
		switch changed := (changedMark{name, info.ModTime()}); {
		case k.changed.Equal(changed.at) && whole:
		case isExit(filepath.Join(s.Dir, name)):
			exits = append(exits, changed)
		default:
			others = append(others, changed)
		}
	}
	// Exits first: from its first moment an entry leads to the machines that there are.
	for _, m := range append(exits, others...) {
		if err := s.take(ctx, accepting, entries, m.name, m.at); err != nil {
			s.cannot(m.name, err)
		}
	}
	s.forget(seen)
	return nil
}

func (s *Server) cannot(name string, err error) {
	s.Log.Error("cannot serve an API server's entry; it is tried again", "workload", name, "error", err)
}

// forget closes what is no more.
func (s *Server) forget(seen map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, k := range s.marks {
		if !seen[name] {
			k.stop()
			delete(s.marks, name)
		}
	}
}
