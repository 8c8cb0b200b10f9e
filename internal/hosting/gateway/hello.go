package gateway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"kqueen.io/kqueen/internal/platform/kube"
)

// maxHello is how many bytes a client may send before its server name is known. A hello with post-quantum keys has about 2 KiB.
const maxHello = 16 << 10

var (
	errHelloTooBig = fmt.Errorf("TLS hello is larger than %d bytes", maxHello)
	errHelloRead   = errors.New("hello read") // ends the handshake once the name is known
)

// hello is what a client says first.
type hello struct {
	// raw are all bytes that were taken from the client, which can be a few more than the hello.
	raw []byte
	// host is empty when the client names none.
	host string
	// plain says that it is an HTTP request without TLS.
	plain bool
	// background says that it is one of KQueen's own calls, of which no user knows ([kube.BackgroundProtocol]).
	background bool
}

// readFirst reads what a client says first: a TLS ClientHello or, where plain is taken, the head of an HTTP request. It takes maxHello
// bytes at most. With an error the host is empty, and the rest is as far as it is known.
func readFirst(r io.Reader, plain bool) (hello, error) {
	rec := &recorder{r: r}
	if !plain {
		return readTLS(rec)
	}
	first, err := rec.peek()
	if err != nil {
		return hello{}, fmt.Errorf("read the first byte: %w", err)
	}
	if first == recordHandshake {
		return readTLS(rec)
	}
	host, err := readHost(rec)
	return hello{raw: rec.raw, host: host, plain: true}, err
}

// readTLS reads a TLS ClientHello. The host is empty when the client sent none.
func readTLS(rec *recorder) (first hello, err error) {
	err = tls.Server(rec, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			first.host, first.background = h.ServerName, slices.Contains(h.SupportedProtos, kube.BackgroundProtocol)
			return nil, errHelloRead
		},
	}).Handshake()
	if !errors.Is(err, errHelloRead) {
		return hello{raw: rec.raw}, fmt.Errorf("read TLS hello: %w", err)
	}
	first.raw = rec.raw
	return first, nil
}

// recorder is a connection that keeps what is read and swallows what is written: the answers of a handshake that will not take place.
type recorder struct {
	r   io.Reader
	raw []byte
	// again is how many bytes at the end of raw are to be read again.
	again int
}

// peek returns the next byte, which is read again.
func (c *recorder) peek() (byte, error) {
	var next [1]byte
	if _, err := io.ReadFull(c, next[:]); err != nil {
		return 0, err
	}
	c.again = 1
	return next[0], nil
}

func (c *recorder) Read(p []byte) (int, error) {
	if c.again > 0 {
		n := copy(p, c.raw[len(c.raw)-c.again:])
		c.again -= n
		return n, nil
	}
	room := maxHello - len(c.raw)
	if room == 0 {
		return 0, errHelloTooBig
	}
	n, err := c.r.Read(p[:min(len(p), room)])
	c.raw = append(c.raw, p[:n]...)
	return n, err
}

func (c *recorder) Write(p []byte) (int, error)      { return len(p), nil }
func (c *recorder) Close() error                     { return nil }
func (c *recorder) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *recorder) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *recorder) SetDeadline(time.Time) error      { return nil }
func (c *recorder) SetReadDeadline(time.Time) error  { return nil }
func (c *recorder) SetWriteDeadline(time.Time) error { return nil }
