//go:build linux

package status

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/clusters/simulator"
	"kqueen.io/kqueen/internal/platform/supervise"
	"kqueen.io/kqueen/internal/server/socket/sockettest"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/access/token"
)

func TestMain(m *testing.M) { sockettest.Main(m) }

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
		Admin: func() client.Reader { return nil }, Tokens: func() *Tokens { return &Tokens{Setup: tokens{secret}} },
		Warnings: func(int) []string { return nil }, Log: slog.New(slog.DiscardHandler),
		Ready: func() bool { return true },
		Simulate: func(context.Context) (*simulator.Access, error) {
			return simulator.AccessTo("https://sim", nil, nil), nil
		},
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
	if given, err := NewSimulator(t.Context(), dir); err != nil || given.Server != "https://sim" || len(given.Clusters) == 0 {
		t.Errorf("the owner adopts %+v, %v", given, err)
	}
	for at, mode := range map[string]os.FileMode{filepath.Join(dir, Name): 0o666, dir: 0o755, filepath.Dir(dir): 0o755} {
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{setupPath, simulatorPath} {
		out := sockettest.Call(t, sockettest.Stranger, filepath.Join(dir, Name), "POST "+path+" HTTP/1.1\r\nHost: kqueen\r\nConnection: close\r\n\r\n")
		if out != "" && !strings.HasPrefix(out, "dial:") {
			t.Errorf("another user gets %q", out)
		}
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
