package server

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/socket"
)

// headerRequestID names a request in both directions.
const headerRequestID = "X-Request-ID"

// chain stands before every route.
func (s *Server) chain(next http.Handler) http.Handler {
	return s.named(s.logged(s.guarded(s.limited(next))))
}

// named gives the request a name: the caller's own, when it is a harmless word, or a new one.
func (s *Server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get(headerRequestID)
		if !harmless(id) {
			id = rand.Text()
		}
		w.Header().Set(headerRequestID, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r.WithContext(withRequest(r.Context(), &request{id: id, path: r.PathValue})))
	})
}

// harmless says whether a word can go into logs as it is.
func harmless(id string) bool {
	if id == "" || len(id) > 64 {
		return false
	}
	return !strings.ContainsFunc(id, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	})
}

// answered remembers what was answered.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answered) Write(data []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(data)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// logged writes a line for each request: never a header, a query or a body, which may hold secrets.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun, a := s.Now(), &answered{ResponseWriter: w}
		next.ServeHTTP(a, r)
		known, level := requestOf(r.Context()), slog.LevelDebug
		// Who went away does not see what became of it, and whoever likes could fill the log by going away.
		if a.status >= http.StatusInternalServerError && r.Context().Err() == nil {
			level = slog.LevelError
		}
		s.Log.Log(r.Context(), level, "request", "id", known.id, "method", r.Method, "path", r.URL.Path, "status", a.status,
			"caller", known.caller.Name, "from", r.RemoteAddr, "took", s.Now().Sub(begun).Round(time.Microsecond), "error", known.failure)
	})
}

// guarded answers for what panicked.
func (s *Server) guarded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			met := recover()
			if met == nil || met == http.ErrAbortHandler { //nolint:errorlint // it is that very value
				return
			}
			requestOf(r.Context()).failure = fmt.Errorf("panic: %v\n%s", met, debug.Stack())
			writeProblem(w, r, explained(fmt.Errorf("panic: %v", met)))
		}()
		next.ServeHTTP(w, r)
	})
}

// limited bounds what one request may send and how many there are at once.
func (s *Server) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if forged(name) {
				writeProblem(w, r, newProblem(http.StatusBadRequest, rest.CodeInvalid, "the request is not valid",
					rest.FieldError{Pointer: ":" + name, Detail: "is not taken from anybody"}))
				return
			}
		}
		if _, local := socket.PeerOf(r.Context()); local {
			if header, why := socket.Foreign(r); header != "" {
				writeProblem(w, r, newProblem(http.StatusBadRequest, rest.CodeInvalid, "the request is not valid", rest.FieldError{Pointer: ":" + header, Detail: why}))
				return
			}
		}
		known := requestOf(r.Context())
		if known.leave = s.entrance.enter(r.Context(), partyOf(originOf(r).Address)); known.leave == nil {
			tooMany(w, r)
			return
		}
		defer func() { known.leave() }() // another one than now, once it is known who it is
		r.Body = &received{http.MaxBytesReader(w, r.Body, maxBody), known}
		next.ServeHTTP(w, r)
	})
}

// received is a body as far as it came.
type received struct {
	io.ReadCloser
	request *request
}

// Read remembers when it could not: that is the client's mistake, and no error of the server.
func (b *received) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if err != nil && !errors.Is(err, io.EOF) {
		b.request.torn = true
	}
	return n, err
}

// forged says whether a header claims to say who somebody is, as proxies and API servers do among themselves.
func forged(name string) bool {
	return strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-User")
}

// refuse answers by huma, so that what stands before sees the status.
func refuse(ctx huma.Context, p *problem) {
	address := ctx.URL()
	p.RequestID, p.Instance = requestOf(ctx.Context()).id, address.Path
	data, err := json.Marshal(p)
	if err != nil { // a problem is texts and numbers
		data = nil
	}
	ctx.SetHeader("Content-Type", p.ContentType(""))
	ctx.SetStatus(p.Status)
	_, _ = ctx.BodyWriter().Write(data)
}

// writeProblem answers outside of huma.
func writeProblem(w http.ResponseWriter, r *http.Request, p *problem) {
	p.RequestID, p.Instance = requestOf(r.Context()).id, r.URL.Path
	w.Header().Set("Content-Type", p.ContentType(""))
	data, err := json.Marshal(p)
	if err != nil { // a problem is texts and numbers
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(data)
}
