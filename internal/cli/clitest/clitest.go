// Package clitest answers commands in tests as an installation would, or as one would not: with what a test says, and
// without an API server behind it. It hides where commands call. Only tests of the command line may import it.
package clitest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"kqueen.io/kqueen/api/rest"
)

// Serve answers calls of the REST API until the test ends, as an installation answers the owner of its machine. It returns
// the data directory with the socket.
func Serve(t *testing.T, answers http.Handler) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kq") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, rest.LocalSocket))
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewUnstartedServer(answers)
	_ = served.Listener.Close() // it is of TCP
	served.Listener = listener
	served.Start()
	t.Cleanup(served.Close)
	return dir
}

// Answer is a handler that gives one answer to every call.
func Answer(status int, mediaType, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { Say(w, status, mediaType, body) })
}

// Say answers a call.
func Say(w http.ResponseWriter, status int, mediaType, body string) {
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// Media types of answers.
const (
	JSON    = "application/json"
	Problem = "application/problem+json"
)
