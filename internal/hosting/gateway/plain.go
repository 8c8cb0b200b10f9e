package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// recordHandshake is the first byte of a TLS hello (RFC 8446, section 5.1). No method of HTTP begins with it.
const recordHandshake = 22

// readHost reads the head of a plain HTTP/1 request and returns the host that it asks for, without a port.
func readHost(r io.Reader) (string, error) {
	req, err := http.ReadRequest(bufio.NewReader(r))
	if err != nil {
		return "", fmt.Errorf("read HTTP request: %w", err)
	}
	if host, _, err := net.SplitHostPort(req.Host); err == nil {
		return host, nil
	}
	return req.Host, nil
}

// refusals are what a client of plain HTTP is told, by outcome.
var refusals = map[string]struct {
	code int
	text string
}{
	outcomeNoHello:   {http.StatusBadRequest, "This is no HTTP/1 request with a Host header within the first 16 KiB."},
	outcomeNoHost:    {http.StatusNotFound, "No cluster here has applications under this host name."},
	outcomeHostFull:  {http.StatusServiceUnavailable, "The cluster has too many open connections. Try again later."},
	outcomeNoBackend: {http.StatusBadGateway, "The cluster's ingress controller does not answer."},
}

// refusePlain answers a client whose request is not passed on.
func refusePlain(c net.Conn, outcome string) {
	said := refusals[outcome]
	answer := http.Response{
		StatusCode: said.code, ProtoMajor: 1, ProtoMinor: 1, Close: true,
		Header:        http.Header{"Content-Type": {"text/plain; charset=utf-8"}},
		ContentLength: int64(len(said.text) + 1), Body: io.NopCloser(strings.NewReader(said.text + "\n")),
	}
	_ = c.SetDeadline(time.Now().Add(lingerTimeout))
	if answer.Write(c) == nil {
		linger(c)
	}
}
