package supervise

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"strings"
	"time"

	"kqueen.io/kqueen/internal/platform/procroot"
)

// absentError says that a program answers and does not offer what it is asked for. It loads that at its start or never.
type absentError struct{ method string }

func (e *absentError) Error() string { return "it does not offer " + e.method }

// newServiceClient calls methods of gRPC on a unix socket of a process, as that process sees it.
func newServiceClient(pid int, socket string, timeout time.Duration) *http.Client {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return &http.Client{Timeout: timeout, Transport: &http.Transport{
		Protocols: protocols, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return procroot.Dial(ctx, pid, socket) },
	}}
}

const (
	// noMessage is a message of gRPC without a field: no compression, and a length of 0.
	noMessage = "\x00\x00\x00\x00\x00"
	// Codes of gRPC: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md
	grpcOK, grpcUnimplemented = "0", "12"
)

// askService calls a method that takes nothing. Nil says that it was done, whatever it answered.
func askService(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(noMessage)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("TE", "trailers")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)); err != nil { // trailers come after it
		return err
	}
	status, message := resp.Trailer.Get("Grpc-Status"), resp.Trailer.Get("Grpc-Message")
	if status == "" { // of a call that has no answer
		status, message = resp.Header.Get("Grpc-Status"), resp.Header.Get("Grpc-Message")
	}
	switch status {
	case grpcOK:
		return nil
	case grpcUnimplemented:
		return &absentError{path.Base(path.Dir(req.URL.Path))}
	}
	return fmt.Errorf("%s, gRPC status %q: %.200s", resp.Status, status, strings.ToValidUTF8(message, "?"))
}
