package gateway

import (
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"kqueen.io/kqueen/internal/platform/share"
)

var errFull = errors.New("too many open connections")

// sureOfAddress is how many connections of one address there may be, to a gateway and to each name, however many others
// have: many addresses together cannot close a name.
const sureOfAddress = 8

// limiter bounds what connections share: all those of a gateway, or all those of one name. The connections of one address take
// so many places at most, and are sure of a few.
//
// Where an address has all the places that it may have, its connection that has been silent for longest gives way to the
// next one: a client that opens connections and leaves them idle, as any client may before it says who it is, closes
// the name to no other client, not even to those behind the same address.
type limiter struct {
	places     *share.Shares
	minSilence time.Duration // of a connection that gives way
	gaveWay    func()

	mu sync.Mutex
	of map[string]map[*link]func() // by address; the function gives the place back
}

func (g *Gateway) newLimiter(most, mostOfOne int) *limiter {
	return &limiter{
		places: share.New(most, mostOfOne, sureOfAddress), minSilence: g.c.minSilence,
		gaveWay: func() { g.metrics.count(outcomeGaveWay) }, of: map[string]map[*link]func(){},
	}
}

// enter takes a place for a connection until leave is called. [errFull] says that there is none.
func (r *limiter) enter(l *link) (leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	free := r.places.Take(l.from)
	if free == nil && r.giveWay(l.from) {
		free = r.places.Take(l.from)
	}
	if free == nil {
		return nil, errFull
	}
	if r.of[l.from] == nil {
		r.of[l.from] = map[*link]func(){}
	}
	r.of[l.from][l] = free
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.remove(l)
	}, nil
}

// remove gives a place back. The caller holds r.mu.
func (r *limiter) remove(l *link) {
	if free, ok := r.of[l.from][l]; ok {
		free()
		delete(r.of[l.from], l)
	}
	if len(r.of[l.from]) == 0 {
		delete(r.of, l.from)
	}
}

// maxCompared is among how many the most silent one is looked for, so that a flood of connections costs little.
const maxCompared = 32

// giveWay cuts a silent connection of an address. The caller holds r.mu.
func (r *limiter) giveWay(from string) bool {
	var victim *link
	longest, compared := r.minSilence, 0
	for l := range r.of[from] { // in random order
		if silent := l.silence(); silent >= longest {
			victim, longest = l, silent
		}
		if compared++; compared == maxCompared {
			break
		}
	}
	if victim == nil {
		return false
	}
	r.remove(victim)
	victim.cut()
	r.gaveWay()
	return true
}

// cutAll ends all connections.
func (r *limiter) cutAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, links := range r.of {
		for l := range links {
			l.cut()
		}
	}
}

// silence is the time since the client or the API server sent something; 0 when the kernel does not tell.
func (l *link) silence() time.Duration {
	info, err := tcpInfo(l.client)
	if err != nil {
		return 0
	}
	return time.Duration(min(info.Last_data_recv, info.Last_data_sent)) * time.Millisecond
}

// received is how many bytes came from the client.
func (l *link) received() uint64 {
	info, err := tcpInfo(l.client)
	if err != nil {
		return 0
	}
	return info.Bytes_received
}

// tcpInfo asks the kernel, which moves the bytes without us.
func tcpInfo(c net.Conn) (info *unix.TCPInfo, err error) {
	socket, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	asked := raw.Control(func(fd uintptr) {
		info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	})
	return info, errors.Join(asked, err)
}
