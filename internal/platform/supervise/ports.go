package supervise

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// PortOf names a port that each identity of a component has for itself, of what makes up that identity: of a component that hands over
// two run at the same time, and each has to answer its own probe. It is given back when another identity needs one and nothing listens there.
func PortOf(name string, identity ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(identity, "\x00")))
	return fmt.Sprintf("%s-%x", name, sum[:4])
}

// sharedName is the name that PortOf was given, or empty for the name of a port that is none of an identity.
func sharedName(name string) string {
	i := strings.LastIndexByte(name, '-')
	if _, err := hex.DecodeString(name[i+1:]); i < 0 || err != nil || len(name)-i != 9 {
		return ""
	}
	return name[:i]
}

// portBook knows all reserved ports of the supervisor. The files are the truth, it is their image. Callers keep two
// calls for one id apart.
type portBook struct {
	addr  netip.Addr
	ports PortRange

	mu    sync.Mutex
	byID  map[string]map[string]int
	bad   map[string]error // workloads whose reservation cannot be read
	taken claims
	next  int // where the search goes on, so that a freed port rests for long
}

// loadPorts reads the reservations of all workloads. A damaged one, which atomic writes do not make, fails the Reserve
// of its workload and nothing else.
func loadPorts(ctx context.Context, conf Config) (*portBook, error) {
	b := &portBook{addr: conf.Listen, ports: conf.Ports,
		byID: map[string]map[string]int{}, bad: map[string]error{}, taken: claims{}}
	// Runners of different directories on one host share the range without knowing each other: they begin at different
	// places.
	sum := sha256.Sum256([]byte(conf.Dir))
	b.next = int(b.ports.First) + int(binary.BigEndian.Uint16(sum[:]))%(int(b.ports.Last)-int(b.ports.First)+1)
	workloads := filepath.Join(conf.Dir, "workloads")
	entries, err := os.ReadDir(workloads)
	if err != nil {
		return nil, fmt.Errorf("read ports: %w", err)
	}
	for _, e := range entries {
		held, err := readPorts(filepath.Join(workloads, e.Name(), PortsFile))
		if err != nil {
			conf.Log.Error("port reservation unreadable", "workload", e.Name(), "error", err)
			b.bad[e.Name()] = err
		}
		b.byID[e.Name()] = held
		for _, p := range held {
			b.taken.keep(ctx, p)
		}
	}
	return b, nil
}

func readPorts(file string) (map[string]int, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var held map[string]int
	err = json.Unmarshal(data, &held)
	if err == nil && held == nil {
		err = errors.New("it has no ports")
	}
	if err != nil {
		return nil, &atomicfile.DamagedError{
			Path: file, Problem: "is damaged: " + err.Error(), Remedy: `restore it from a backup, or write the ports that clients have into it, as in {"api":20001}; the others are chosen again`,
		}
	}
	return held, nil
}

// mend takes the reservation of id that was damaged, once the file in dir is good again. One that is missing is not: clients have its ports.
func (b *portBook) mend(ctx context.Context, id, dir string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	bad := b.bad[id]
	if bad == nil {
		return nil
	}
	held, err := readPorts(filepath.Join(dir, PortsFile))
	if err != nil || held == nil {
		return cmp.Or(err, bad)
	}
	for _, p := range held {
		b.taken.keep(ctx, p)
	}
	b.byID[id] = held
	delete(b.bad, id)
	return nil
}

// reserve adds the missing names and returns all ports of id, once they are on disk in dir.
func (b *portBook) reserve(ctx context.Context, id, dir string, names []string) (map[string]int, error) {
	if err := b.mend(ctx, id, dir); err != nil {
		return nil, err
	}
	all, added, err := b.allocate(ctx, id, names)
	if err != nil || len(added) == 0 {
		return all, err
	}
	left := b.leave(ctx, all, names)
	if err := savePorts(dir, all); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range added {
			b.taken.drop(p)
		}
		return nil, fmt.Errorf("save ports: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.byID[id] = maps.Clone(all)
	for _, p := range left {
		b.taken.drop(p)
	}
	return all, nil
}

// leave takes out of all, and returns, the ports of identities that are gone: those that share a name with one of names, and at which nothing
// listens.
func (b *portBook) leave(ctx context.Context, all map[string]int, names []string) (left []int) {
	shared := map[string]bool{}
	for _, name := range names {
		shared[sharedName(name)] = true
	}
	for name, p := range all {
		if sharedName(name) == "" || !shared[sharedName(name)] || slices.Contains(names, name) {
			continue
		}
		if portFree(ctx, b.addr, p) {
			delete(all, name)
			left = append(left, p)
		}
	}
	return left
}

// allocate marks the ports as taken but does not yet give them to id: a crash or an error before they are saved loses
// nothing.
func (b *portBook) allocate(ctx context.Context, id string, names []string) (all map[string]int, added []int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	all = maps.Clone(b.byID[id])
	if all == nil {
		all = map[string]int{}
	}
	for _, name := range names {
		if _, ok := all[name]; ok {
			continue
		}
		p, err := b.find(ctx)
		if err != nil {
			for _, p := range added {
				b.taken.drop(p)
			}
			return nil, nil, fmt.Errorf("reserve port %s: %w", name, err)
		}
		all[name] = p
		added = append(added, p)
	}
	return all, added, nil
}

// find returns a port that it has claimed.
func (b *portBook) find(ctx context.Context) (int, error) {
	for range int(b.ports.Last) - int(b.ports.First) + 1 {
		p := b.next
		b.next++
		if b.next > int(b.ports.Last) {
			b.next = int(b.ports.First)
		}
		if b.taken.has(p) || !b.taken.take(ctx, p) {
			continue
		}
		if portFree(ctx, b.addr, p) {
			return p, nil
		}
		b.taken.drop(p)
	}
	return 0, fmt.Errorf("no free port in %d-%d on %s", b.ports.First, b.ports.Last, b.addr)
}

func (b *portBook) of(id string) map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.byID[id])
}

// release forgets the ports of id; their file is gone already.
func (b *portBook) release(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.byID[id] {
		b.taken.drop(p)
	}
	delete(b.byID, id)
	delete(b.bad, id)
}

// close gives up all claims.
func (b *portBook) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken.dropAll()
}

// firstTaken returns the first of the ports that a program listens on, or 0.
func firstTaken(ctx context.Context, addr netip.Addr, ports []int) int {
	i := slices.IndexFunc(ports, func(p int) bool { return !portFree(ctx, addr, p) })
	if i < 0 {
		return 0
	}
	return ports[i]
}

// loopback is where programs listen that only KQueen itself calls.
var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// portFree tries to listen at addr, and at the loopback address, where data stores and probes are whatever addr is.
func portFree(ctx context.Context, addr netip.Addr, port int) bool {
	return free(ctx, addr, port) && (addr == loopback || free(ctx, loopback, port))
}

// free tries to listen. Only "in use" counts as taken: a port we may not bind (below 1024) is the program's to
// complain about. ForkLock keeps a child that is started meanwhile from holding a copy of the listener until its exec,
// which would make the port look taken to the program it was tried for.
func free(ctx context.Context, addr netip.Addr, port int) bool {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", netip.AddrPortFrom(addr, uint16(port)).String())
	if err != nil {
		return !errors.Is(err, unix.EADDRINUSE)
	}
	return l.Close() == nil
}

func savePorts(dir string, ports map[string]int) error {
	data, err := json.Marshal(ports)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, PortsFile), append(data, '\n'), 0o600); err != nil {
		return err
	}
	return atomicfile.Host{}.Sync(filepath.Dir(dir)) // which has the name of dir
}
