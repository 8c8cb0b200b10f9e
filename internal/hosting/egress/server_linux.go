package egress

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	// interval is the time between two looks for marks. A look is one call to the kernel when nothing was
	// added or removed.
	interval = 500 * time.Millisecond
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

	mu      sync.Mutex
	marks   map[string]known // by the name of the directory
	allowed map[*allowed]bool
}

// known is a mark that was found.
type known struct {
	Mark
	changed time.Time
	cancel  context.CancelFunc // of an entry that is served
	ctx     context.Context    // then: ends with cancel
	socket  os.FileInfo        // then: what was opened
}

// Run serves until ctx ends, or until the last connection has ended after it was told to leave.
func (s *Server) Run(ctx context.Context) error {
	s.marks, s.allowed = map[string]known{}, map[*allowed]bool{}
	if s.direct == nil {
		s.direct = direct
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	accepting, leave := context.WithCancel(ctx)
	defer leave()
	entries, asked := &errgroup.Group{}, s.Leave
	group.Go(func() error {
		defer leave()
		tick := time.NewTicker(interval)
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

// look brings what is served to what the marks say. With all it looks whether its sockets are in their places, too.
func (s *Server) look(ctx, accepting context.Context, entries *errgroup.Group, all bool) error {
	dirs, err := os.ReadDir(s.Dir)
	if err != nil {
		return fmt.Errorf("look for clusters: %w", err)
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		name := dir.Name()
		info, err := os.Stat(filepath.Join(s.Dir, name, MarkFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		seen[name] = true
		k := s.get(name)
		whole := !all || k.cancel == nil || accepting.Err() != nil || !k.lost(filepath.Join(s.Dir, name))
		if err == nil && k.changed.Equal(info.ModTime()) && whole {
			continue
		}
		if err == nil {
			err = s.take(ctx, accepting, entries, name, info.ModTime())
		}
		if err != nil {
			s.Log.Error("cannot serve an API server's entry; it is tried again", "workload", name, "error", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, k := range s.marks {
		if !seen[name] {
			k.stop()
			delete(s.marks, name)
		}
	}
	return nil
}

// take reads a mark that is new or has changed and serves it, if it is an entry. An entry that is served already stays
// open: what is connected through it has nothing to do with what was added, and what is allowed no more is cut. One that leaves opens
// none.
func (s *Server) take(ctx, accepting context.Context, entries *errgroup.Group, name string, changed time.Time) error {
	dir, before := filepath.Join(s.Dir, name), s.get(name)
	mark, err := readMark(dir)
	leaving := accepting.Err() != nil
	if err == nil && before.serves(mark.Cluster) && !mark.exit() {
		found := before
		found.Mark, found.changed = mark, changed
		if !leaving && before.lost(dir) {
			found.socket, err = s.open(before.ctx, accepting, entries, name, mark.Cluster)
		}
		s.set(name, found)
		s.cut(name, mark)
		return err
	}
	before.stop()
	var found known
	defer func() { s.set(name, found) }()
	if err != nil {
		return err
	}
	if mark.exit() || leaving {
		found = known{Mark: mark, changed: changed}
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	socket, err := s.open(ctx, accepting, entries, name, mark.Cluster)
	if err != nil {
		cancel()
		return err
	}
	found = known{Mark: mark, changed: changed, cancel: cancel, ctx: ctx, socket: socket}
	return nil
}

// open puts a socket into the place of an entry, and serves it.
func (s *Server) open(ctx, accepting context.Context, entries *errgroup.Group, name, cluster string) (os.FileInfo, error) {
	dir := filepath.Join(s.Dir, name)
	l, err := Listen(dir)
	if err != nil {
		return nil, err
	}
	socket, err := os.Lstat(filepath.Join(dir, Socket))
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	entries.Go(func() error {
		if err := serve(ctx, accepting, l, func(ctx context.Context, to netip.AddrPort) (net.Conn, error) { return s.dial(ctx, name, to) }); err != nil {
			s.Log.Error("an API server's entry is closed", "cluster", cluster, "error", err)
		}
		return nil
	})
	return socket, nil
}

// lost says whether an entry's socket is gone, or was replaced by one at which nothing listens: another egress has taken its place, and
// ended before it could take all.
func (k known) lost(dir string) bool {
	now, err := os.Lstat(filepath.Join(dir, Socket))
	if err != nil || os.SameFile(now, k.socket) {
		return err != nil
	}
	conn, err := dialSocket(k.ctx, dir)
	if err != nil {
		return errors.Is(err, unix.ECONNREFUSED)
	}
	return conn.Close() != nil
}

func readMark(dir string) (Mark, error) {
	data, err := os.ReadFile(filepath.Join(dir, MarkFile))
	if err != nil {
		return Mark{}, err
	}
	mark, err := parseMark(data)
	if err != nil {
		return Mark{}, fmt.Errorf("read %s: %w", MarkFile, err)
	}
	return mark, nil
}

// serves says whether it is an entry of a cluster, and open.
func (k known) serves(cluster string) bool { return k.cancel != nil && k.Cluster == cluster }

func (k known) stop() {
	if k.cancel != nil {
		k.cancel()
	}
}

func (s *Server) get(name string) known {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.marks[name]
}

func (s *Server) set(name string, k known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.marks[name] = k
}

// entry is what an entry's mark says now, be it younger than the last look: a machine that has just joined is called at once.
func (s *Server) entry(name string) Mark {
	k, dir := s.get(name), filepath.Join(s.Dir, name)
	info, err := os.Stat(filepath.Join(dir, MarkFile))
	if err != nil || info.ModTime().Equal(k.changed) {
		return k.Mark
	}
	mark, err := readMark(dir)
	if err != nil || mark.Cluster != k.Cluster {
		return k.Mark
	}
	return mark
}

// dial connects the API server of an entry with target.
func (s *Server) dial(ctx context.Context, name string, target netip.AddrPort) (net.Conn, error) {
	entry := s.entry(name)
	own, err := HostAddresses()
	if err != nil {
		return nil, err
	}
	machines, exits := s.exits(entry.Cluster)
	within, err := inside(entry, target, machines, own)
	if err != nil {
		s.Log.Warn("refused", "cluster", entry.Cluster, "error", err)
		return nil, err
	}
	if !within && entry.allows(target) {
		return s.dialAllowed(ctx, name, target)
	}
	if !within {
		return s.direct(ctx, target)
	}
	err = errors.New("the cluster has no machine on this host")
	for _, exit := range exits {
		conn, reached, failed := dialThrough(ctx, exit, target)
		if failed == nil {
			return conn, nil
		}
		if err = failed; reached {
			break
		}
	}
	return nil, fmt.Errorf("no way to %s: %w", target, err)
}

// exits returns the machines of all clusters, and the directories with the exits of one. Their order changes from
// call to call, as that of a map does: no machine carries it all.
func (s *Server) exits(cluster string) (machines []Mark, dirs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, k := range s.marks {
		if !k.exit() {
			continue
		}
		machines = append(machines, k.Mark)
		if k.Cluster == cluster {
			dirs = append(dirs, filepath.Join(s.Dir, name))
		}
	}
	return machines, dirs
}

// HostAddresses are those of this host now.
func HostAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the host's addresses: %w", err)
	}
	var own []netip.Addr
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own, nil
}
