// Package sockettest calls Unix sockets of this host as another user, so that tests see whom a socket serves.
//
// It hides that the test binary runs once more. Tests of servers on sockets import it.
package sockettest

import (
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Stranger is the UID of a user who owns nothing.
const Stranger = 65534

// The environment in which the test binary only calls a socket.
const (
	socketEnv  = "KQUEEN_TEST_SOCKET"
	requestEnv = "KQUEEN_TEST_REQUEST"
)

// Main is the TestMain of a package whose tests use [Call].
func Main(m *testing.M) {
	path := os.Getenv(socketEnv)
	if path == "" {
		os.Exit(m.Run())
	}
	c, err := net.Dial("unix", path) //nolint:gosec // the path is the test's own
	if err != nil {
		_, _ = os.Stdout.WriteString("dial: " + err.Error())
		return
	}
	_, _ = io.WriteString(c, os.Getenv(requestEnv))
	_, _ = io.Copy(os.Stdout, c)
}

// Call sends a request to a socket as a user, and returns the whole answer; "dial: " and the reason when there is no
// connection. The folders of the test are opened to that user, but for the one that the socket is in.
func Call(t *testing.T, uid uint32, path, request string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "calls") // where the other user can read it
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, self, 0o755)
	}
	other := uid != uint32(os.Geteuid())
	for dir := filepath.Dir(program); err == nil && other && dir != os.TempDir() && len(dir) > 1; dir = filepath.Dir(dir) {
		if dir != filepath.Dir(path) {
			err = os.Chmod(dir, 0o755)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), socketEnv+"="+path, requestEnv+"="+request)
	if other {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}
