//go:build linux

package status

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

const (
	// callsEnv has the test binary ask a socket for a setup token, as another user.
	callsEnv = "KQUEEN_TEST_CALLS"
	stranger = 65534
)

func TestMain(m *testing.M) {
	if path := os.Getenv(callsEnv); path != "" {
		call(path)
		return
	}
	os.Exit(m.Run())
}

// call asks for a setup token and writes what comes back.
func call(path string) {
	c, err := net.Dial("unix", path)
	if err != nil {
		os.Stdout.WriteString("dial: " + err.Error())
		return
	}
	_, _ = io.WriteString(c, "POST "+setupPath+" HTTP/1.1\r\nHost: kqueen\r\nConnection: close\r\n\r\n")
	_, _ = io.Copy(os.Stdout, c)
}

// tokens make one.
type tokens struct{ secret token.Secret }

func (t tokens) Token(context.Context) (access.OneTime, error) {
	return access.OneTime{Token: t.secret, Expires: time.Now().Add(time.Hour)}, nil
}

func (t tokens) RecoveryToken(ctx context.Context) (access.OneTime, error) { return t.Token(ctx) }

// nothing runs here.
type nothing struct{}

func (nothing) List(context.Context) ([]string, error) { return nil, nil }

func (nothing) Status(context.Context, string) (supervise.Status, error) {
	return supervise.Status{}, nil
}

// TestOthersGetNoSetupToken: what makes an administrator is given to the owner and to no other user of the machine, also
// when the socket and its folder are open to all.
func TestOthersGetNoSetupToken(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can call as another user")
	}
	dir := t.TempDir()
	secret := token.New(token.OneTime, time.Now()).Text()
	s := &Socket{
		Dir: dir, API: func() string { return "https://127.0.0.1:8443" }, Supervisor: nothing{}, Owns: func(string) bool { return false },
		Admin: func() client.Reader { return nil }, Tokens: func() *Tokens { return &Tokens{Setup: tokens{secret}} }, Log: slog.New(slog.DiscardHandler),
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	setup := await(t, dir)
	if setup.Token != secret.Reveal() {
		t.Fatalf("the owner gets %+v", setup)
	}
	program := filepath.Join(dir, "calls") // where the other user can read it
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(program, self, 0o755)
	}
	for at, mode := range map[string]os.FileMode{filepath.Join(dir, Name): 0o666, dir: 0o755, filepath.Dir(dir): 0o755} {
		err = errors.Join(err, os.Chmod(at, mode))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), callsEnv+"="+filepath.Join(dir, Name))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(out) > 0 && !strings.HasPrefix(string(out), "dial:") {
		t.Errorf("another user gets %q", out)
	}
}

// await asks as the owner until the socket is there.
func await(t *testing.T, dir string) *Setup {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		setup, err := NewSetup(t.Context(), dir)
		if err == nil {
			return setup
		}
		if !errors.Is(err, ErrNotRunning) {
			t.Fatal(err)
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the socket does not answer")
		}
	}
}
