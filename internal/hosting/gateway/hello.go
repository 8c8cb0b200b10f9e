package gateway

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// maxHello is how many bytes a client may send before its server name is known. A hello with post-quantum keys has about 2 KiB.
const maxHello = 16 << 10

var (
	errHelloTooBig = fmt.Errorf("TLS hello is larger than %d bytes", maxHello)
	errHelloRead   = errors.New("hello read") // ends the handshake once the name is known
)

// readHello reads a TLS ClientHello. It returns all bytes that it took from r, which can be a few more than the hello, and the server name, which is
// empty when the client sent none. It takes maxHello bytes at most.
func readHello(r io.Reader) (raw []byte, host string, err error) {
	rec := &recorder{r: r}
	err = tls.Server(rec, &tls.Config{
		GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
			host = h.ServerName
			return nil, errHelloRead
		},
	}).Handshake()
	if !errors.Is(err, errHelloRead) {
		return rec.raw, "", fmt.Errorf("read TLS hello: %w", err)
	}
	return rec.raw, host, nil
}

// recorder is a connection that keeps what is read and swallows what is written: the answers of a handshake that will not take place.
type recorder struct {
	r   io.Reader
	raw []byte
}

func (c *recorder) Read(p []byte) (int, error) {
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
