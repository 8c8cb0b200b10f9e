package simulator

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"kqueen.io/kqueen/internal/platform/ciphers"
	"kqueen.io/kqueen/internal/platform/healthz"
	"kqueen.io/kqueen/internal/platform/relay"
)

// Process serves the showcase in a process of its own, so that it costs KQueen nothing and goes on without it. All fields are required.
//
// It holds no secret but that by which it knows its callers: without a token, which only KQueen has, other programs of the host are told
// nothing, not even which clusters there are.
type Process struct {
	// Listen is the address and the port on which API servers are called.
	Listen string
	// Certificate and Key are the files with what it presents. They are read again for each connection.
	Certificate, Key string
	// Secret is the file with what tokens are made of.
	Secret string
	// Health is where "GET /healthz" answers 200 while it works.
	Health string
	Log    *slog.Logger
}

// Args are the process' arguments for the command line, which has a flag for each field.
func (p Process) Args() []string {
	return []string{"--listen", p.Listen, "--certificate", p.Certificate, "--key-file", p.Key, "--secret-file", p.Secret, "--health", p.Health}
}

// timeout bounds what is read before a request is known, and how long a connection rests. Answers are not bounded: watches are some.
const timeout = time.Minute

// maxHeader is more than a call of KQueen has, in bytes.
const maxHeader = 16 << 10

// Run serves until ctx ends.
func (p Process) Run(ctx context.Context) error {
	secret, err := os.ReadFile(p.Secret)
	if err != nil {
		return fmt.Errorf("read the simulator's secret: %w", err)
	}
	show := Showcase(time.Now())
	server := &http.Server{
		Handler: Guarded(secret, show), ReadHeaderTimeout: timeout, IdleTimeout: timeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug),
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, CipherSuites: ciphers.Suites(), GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			loaded, err := tls.LoadX509KeyPair(p.Certificate, p.Key)
			return &loaded, err
		}},
	}
	l, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return fmt.Errorf("open the simulator's port: %w", err)
	}
	health, err := net.Listen("tcp", p.Health)
	if err != nil {
		return errors.Join(fmt.Errorf("open the simulator's port for health: %w", err), l.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	defer relay.CloseWhenDone(ctx, server)()
	group.Go(func() error {
		show.Live(ctx)
		return nil
	})
	group.Go(func() error { return healthz.Serve(ctx, health, nil, nil) })
	group.Go(func() error {
		if err := server.ServeTLS(l, "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve simulated clusters: %w", err)
		}
		return nil
	})
	return group.Wait()
}

// Guarded lets callers with the token of a cluster through to it, and tells others nothing.
func Guarded(secret []byte, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, clustersPath), "/")
		token, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !found || subtle.ConstantTimeCompare([]byte(token), []byte(Token(secret, name))) != 1 {
			refuse(w, http.StatusUnauthorized, "Unauthorized")
			return
		}
		to.ServeHTTP(w, r)
	})
}

// Token is what the caller of a cluster presents. It is a secret, and says nothing of those of others.
func Token(secret []byte, cluster string) string {
	sum := hmac.New(sha256.New, secret)
	_, _ = sum.Write([]byte("kqueen simulator " + cluster))
	return hex.EncodeToString(sum.Sum(nil))
}
