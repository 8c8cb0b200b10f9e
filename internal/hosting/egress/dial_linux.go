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
	conn, err := s.connect(ctx, name, target)
	if _, refused := errors.AsType[*refusedError](err); refused {
		s.Log.Warn("refused", "cluster", s.get(name).Cluster, "error", err)
	}
	return conn, err
}

// route is how a call goes from an entry to its target.
type route struct {
	entry  Mark
	within bool     // through one of the exits
	exits  []string // their directories
}

// route says how a call from an entry goes to target, or that it is refused.
func (s *Server) route(name string, target netip.AddrPort) (route, error) {
	own, err := HostAddresses()
	if err != nil {
		return route{}, err
	}
	way := route{entry: s.entry(name)}
	machines, exits := s.exits(way.entry.Cluster)
	way.exits = exits
	way.within, err = inside(way.entry, target, machines, own)
	return way, err
}

func (s *Server) connect(ctx context.Context, name string, target netip.AddrPort) (net.Conn, error) {
	way, err := s.route(name, target)
	switch {
	case err != nil:
		return nil, err
	case way.within:
		return through(ctx, way.exits, target)
	case way.entry.allows(target):
		return s.dialAllowed(ctx, name, target)
	case target.Port() == kubeletPort:
		return s.dialKubelet(ctx, name, way.entry.Cluster, target)
	}
	return s.direct(ctx, target)
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

// exitAt returns the directory with the exit of a kubelet's machine; empty for one of another host.
func (s *Server) exitAt(k kubelet) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, m := range s.marks {
		if m.exit() && m.Cluster == k.cluster && m.Machine == k.target.Addr() {
			return filepath.Join(s.Dir, name)
		}
	}
	return ""
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
