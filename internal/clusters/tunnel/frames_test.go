package tunnel

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"testing"
)

// frame is one of yamux.
func frame(kind byte, flags uint16, length uint32, data ...byte) []byte {
	header := make([]byte, frameHeader)
	header[1] = kind
	binary.BigEndian.PutUint16(header[2:], flags)
	binary.BigEndian.PutUint32(header[4:], 1)
	binary.BigEndian.PutUint32(header[8:], length)
	return slices.Concat(header, data)
}

// sent is a connection on which so much comes, in pieces.
type sent struct {
	net.Conn
	data  []byte
	piece int
}

func (s *sent) Read(p []byte) (int, error) {
	if len(s.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.piece)], s.data)
	s.data = s.data[n:]
	return n, nil
}

// TestIncoming: what an agent sends passes as it is, however it is cut, and what it would not send ends the connection.
func TestIncoming(t *testing.T) {
	ping := frame(framePing, frameBegins, 7)
	looksLike := frame(frameData, 0, 2*frameHeader, slices.Concat(frame(frameData, frameBegins, 0), frame(framePing, frameBegins, 0))...)
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"Answers":             {slices.Concat(frame(frameWindow, 2, 9), frame(frameData, 0, 3, 1, 2, 3), frame(frameData, 4, 0), frame(framePing, 2, 7), frame(3, 0, 0)), nil},
		"Data like a header":  {looksLike, nil},
		"Heartbeats":          {bytes.Repeat(ping, pingsBurst), nil},
		"Too many heartbeats": {bytes.Repeat(ping, 2*pingsBurst), errHeartbeats},
		"A stream of its own": {frame(frameWindow, frameBegins, 0), errOwnStream},
		"Data on a new one":   {frame(frameData, frameBegins, 1, 0), errOwnStream},
	} {
		for _, piece := range []int{1, 5, frameHeader, 1 << 10} {
			in := newIncoming(&sent{data: tc.data, piece: piece})
			got, err := io.ReadAll(in)
			if !errors.Is(err, tc.want) || tc.want == nil && !bytes.Equal(got, tc.data) {
				t.Errorf("%s in pieces of %d: %d of %d bytes, %v; want %v", name, piece, len(got), len(tc.data), err, tc.want)
			}
		}
	}
}

// TestHostileAgent: an agent that opens a stream is let go.
func TestHostileAgent(t *testing.T) {
	e := connect(t)
	_, _ = e.agent.mux.OpenStream() // it may be ended before that returns
	<-e.kqueen.Done()
}

// FuzzIncoming: however what comes is cut, the same is found.
func FuzzIncoming(f *testing.F) {
	f.Add(slices.Concat(frame(frameData, 0, 3, 1, 2, 3), frame(frameWindow, frameBegins, 0)), 4)
	f.Fuzz(func(t *testing.T, data []byte, piece int) {
		whole, err := io.ReadAll(newIncoming(&sent{data: data, piece: len(data) + 1}))
		cut, cutErr := io.ReadAll(newIncoming(&sent{data: data, piece: max(piece, 1)}))
		if !errors.Is(cutErr, err) || err == nil && !bytes.Equal(whole, cut) {
			t.Errorf("whole: %d bytes, %v; cut: %d bytes, %v", len(whole), err, len(cut), cutErr)
		}
	})
}
