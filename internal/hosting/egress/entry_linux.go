package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// known is a mark that was found.
type known struct {
	Mark
	changed time.Time
	cancel  context.CancelFunc // of an entry that is served
	ctx     context.Context    // then: ends with cancel
	socket  os.FileInfo        // then: what was opened
}

// serves says whether it is an entry of a cluster, and open.
func (k known) serves(cluster string) bool { return k.cancel != nil && k.Cluster == cluster }

func (k known) stop() {
	if k.cancel != nil {
		k.cancel()
	}
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
	opened := known{Mark: mark, changed: changed, cancel: cancel, ctx: ctx}
	s.set(name, opened) // the first call comes as soon as there is a socket
	if opened.socket, err = s.open(ctx, accepting, entries, name, mark.Cluster); err != nil {
		cancel()
		return err
	}
	found = opened
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
	dial := func(ctx context.Context, to netip.AddrPort) (net.Conn, error) { return s.dial(ctx, name, to) }
	entries.Go(func() error {
		if err := serve(ctx, accepting, l, connector{life: ctx, dial: dial}); err != nil {
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

// isExit says whether a folder has the mark of a machine. One that cannot be read is told when it is taken.
func isExit(dir string) bool {
	mark, err := readMark(dir)
	return err == nil && mark.exit()
}
