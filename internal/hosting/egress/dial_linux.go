package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
)

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

// dial connects the API server of an entry with target, and says what it refuses.
func (s *Server) dial(ctx context.Context, name string, target netip.AddrPort) (net.Conn, error) {
	entry := s.entry(name)
	conn, err := s.connect(ctx, name, entry, target)
	if _, refused := errors.AsType[*refusedError](err); refused {
		s.Log.Warn("refused", "cluster", entry.Cluster, "error", err)
	}
	return conn, err
}

func (s *Server) connect(ctx context.Context, name string, entry Mark, target netip.AddrPort) (net.Conn, error) {
	own, err := HostAddresses()
	if err != nil {
		return nil, err
	}
	machines, exits := s.exits(entry.Cluster)
	within, err := inside(entry, target, machines, own)
	if err != nil {
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
