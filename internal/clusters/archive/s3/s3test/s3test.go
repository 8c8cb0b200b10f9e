// Package s3test starts a real S3 server for tests, with one bucket.
//
// It hides how its program is built and where it listens. Only tests import it.
package s3test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/hosting/controlplanetest"
)

// What every server has.
const (
	Bucket          = "vault"
	Region          = "eu-west-1"
	AccessKeyID     = "kqueen"
	SecretAccessKey = "not-to-be-seen"
)

// Server is one that runs until its test ends.
type Server struct {
	// Directory has a folder for each bucket.
	Directory string
	// Dial connects with it, whatever address is asked for.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Start starts a server at a socket of its own, or at an address where one is given, with certificate and key in files where they are.
// Its program is built where it is not yet.
func Start(t *testing.T, at string, tls ...string) *Server {
	t.Helper()
	root, err := controlplanetest.Root()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join("bin", "tools", "versitygw")
	if out, err := exec.CommandContext(t.Context(), "make", "-C", root, program).CombinedOutput(); err != nil {
		t.Fatalf("build the S3 server: %v\n%s", err, out)
	}
	s, network := &Server{Directory: t.TempDir()}, "tcp"
	if at == "" {
		short, err := os.MkdirTemp("", "s3-") //nolint:usetesting // a socket's path is short, and that of the test's folder may not be
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(short) })
		at, network = filepath.Join(short, "s3.sock"), "unix"
	}
	s.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, at)
	}
	if err := os.Mkdir(filepath.Join(s.Directory, Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	args := []string{"--port", at, "--region", Region, "--quiet"}
	if len(tls) == 2 {
		args = append(args, "--cert", tls[0], "--key", tls[1])
	}
	command := exec.CommandContext(t.Context(), filepath.Join(root, program), append(args, "posix", "--sidecar", t.TempDir(), s.Directory)...)
	command.Env = append(os.Environ(), "ROOT_ACCESS_KEY_ID="+AccessKeyID, "ROOT_SECRET_ACCESS_KEY="+SecretAccessKey)
	log, err := os.Create(filepath.Join(t.TempDir(), "s3.log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("the S3 server: %.4000s", text)
		}
		_ = log.Close()
	})
	s.wait(t)
	return s
}

// wait waits until it listens.
func (s *Server) wait(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := s.Dial(ctx, "", "")
		if err == nil {
			_ = conn.Close()
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the S3 server does not listen: %v", err)
		}
	}
}
