// Package chain is what every request goes through before a handler sees it.
//
// A request gets a name, a line in the log, a guard against panics and limits; then its caller is authenticated, by a token,
// by the cookie of a browser or by the local socket; the audit log notes it, and has its outcome; and a handler that knows that
// the caller may answers a POST that is sent again as the first, by [Once]. What the chain knows of a request, handlers read
// from [Of]. It hides how callers are authenticated, how capacity is shared among them, what makes a record whole, and whose
// an answer is. What a caller may do is not decided here.
//
// The handlers below package server may import it, and the package that wires the program.
package chain

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/audit"
	"kqueen.io/kqueen/internal/tenancy/identityprovider"
)

// Config is what the chain stands on. All fields are required.
type Config struct {
	Credentials Authenticator
	Providers   identityprovider.Source
	// Cache holds the organizations; see [Index].
	Cache client.Reader
	Audit *audit.Log
	// Answers are kept for callers who ask again.
	Answers *idempotency.Store
	Log     *slog.Logger
	Now     func() time.Time
}

// Chain is in front of every route. Create it with New.
type Chain struct {
	// Identities authenticate callers, Recorder writes the audit log, and Streams counts what goes on for long.
	Identities *Identities
	Recorder   *Recorder
	Streams    *Streams

	limits   limits
	measures *measures
	once     once
	log      *slog.Logger
	now      func() time.Time
}

// New returns a chain.
func New(c Config) *Chain {
	who := &Identities{credentials: c.Credentials, providers: c.Providers, cache: c.Cache}
	return &Chain{
		Identities: who, Recorder: newRecorder(c.Audit, c.Log), Streams: newStreams(who), limits: newLimits(), measures: newMeasures(),
		once: once{c.Answers, c.Log}, log: c.Log, now: c.Now,
	}
}

// Handler puts the part of the chain before next that every request goes through.
func (c *Chain) Handler(next http.Handler) http.Handler {
	return named(c.logged(guarded(c.limits.limited(next))))
}

// Middlewares are the part of the chain for operations of the REST API.
func (c *Chain) Middlewares() huma.Middlewares {
	return huma.Middlewares{c.identify, c.Recorder.record, c.once.prepare}
}

// headerRequestID names a request in both directions.
const headerRequestID = "X-Request-ID"

// named gives the request a name: the caller's own, when it is a harmless word, or a new one.
func named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !Harmless(id) {
			id = rand.Text()
		}
		w.Header().Set(headerRequestID, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(with(r.Context(), &Request{ID: id, path: r.PathValue})))
	})
}

// Harmless says whether a word can go into logs as it is.
func Harmless(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// Answered remembers with which status a request was answered.
type Answered struct {
	http.ResponseWriter
	Status int
}

// WriteHeader implements [http.ResponseWriter]. The first status is the one that is remembered.
func (a *Answered) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *Answered) Write(data []byte) (int, error) {
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *Answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// logged writes a line for each request: never a header, a query or a body, which may hold secrets.
func (c *Chain) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, a := c.now(), &Answered{ResponseWriter: w}
		next.ServeHTTP(a, r)
		known, level := Of(r.Context()), slog.LevelDebug
		took := c.now().Sub(begun)
		c.measures.request(r.Method, a.Status, took)
		// A client that went away does not see what became of it, and could fill the log by going away.
		if a.Status >= http.StatusInternalServerError && r.Context().Err() == nil {
			level = slog.LevelError
		}
		c.log.Log(r.Context(), level, "request", "id", known.ID, "method", r.Method, "path", r.URL.Path, "status", a.Status,
			"caller", known.Caller.Name, "from", r.RemoteAddr, "took", took.Round(time.Microsecond), "error", known.Failure)
	})
}

// guarded answers for what panicked.
func guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			met := recover()
			if met == nil || met == http.ErrAbortHandler { //nolint:errorlint // it is that very value
				return
			}
			Of(r.Context()).Failure = fmt.Errorf("panic: %v\n%s", met, debug.Stack())
			WriteProblem(w, r, problem.Of(fmt.Errorf("panic: %v", met)))
		}()
		next.ServeHTTP(w, r)
	})
}
