package tunnel

import (
	"encoding/binary"
	"errors"
	"net"
	"time"

	"golang.org/x/time/rate"
)

// What a frame of yamux has in its header of 12 bytes: version, type, flags (16 bits), stream and length (32 bits each); of data, as many
// bytes follow as the length says. From the specification at github.com/hashicorp/yamux/blob/master/spec.md.
const (
	frameHeader = 12
	frameData   = 0
	frameWindow = 1
	framePing   = 2
	frameBegins = 1 // the flag SYN
)

// Heartbeats that an agent may send: many times more than it does.
const (
	pingsEvery = time.Second
	pingsBurst = 10
)

var (
	errOwnStream  = errors.New("the agent opens a stream, which only KQueen does")
	errHeartbeats = errors.New("the agent sends too many heartbeats")
)

// incoming is what an agent sends. It fails where an agent would not send that: the multiplexer starts a goroutine for each heartbeat, and
// keeps what comes on streams that it is opened.
type incoming struct {
	net.Conn
	header [frameHeader]byte
	have   int    // of the header
	left   uint32 // of the data
	pings  *rate.Limiter
}

func newIncoming(c net.Conn) net.Conn {
	return &incoming{Conn: c, pings: rate.NewLimiter(rate.Every(pingsEvery), pingsBurst)}
}

// Read implements [io.Reader].
func (i *incoming) Read(p []byte) (int, error) {
	n, err := i.Conn.Read(p)
	if wrong := i.look(p[:n]); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// look follows the frames.
func (i *incoming) look(data []byte) error {
	for len(data) > 0 {
		if i.left > 0 {
			skip := min(uint64(i.left), uint64(len(data)))
			i.left -= uint32(skip)
			data = data[skip:]
			continue
		}
		n := copy(i.header[i.have:], data)
		i.have, data = i.have+n, data[n:]
		if i.have < frameHeader {
			return nil
		}
		i.have = 0
		if err := i.judge(); err != nil {
			return err
		}
	}
	return nil
}

// judge looks at a whole header.
func (i *incoming) judge() error {
	begins := binary.BigEndian.Uint16(i.header[2:4])&frameBegins != 0
	switch i.header[1] {
	case frameData, frameWindow:
		if begins {
			return errOwnStream
		}
		if i.header[1] == frameData {
			i.left = binary.BigEndian.Uint32(i.header[8:])
		}
	case framePing:
		if begins && !i.pings.Allow() {
			return errHeartbeats
		}
	}
	return nil
}
