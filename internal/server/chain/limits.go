package chain

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/share"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/socket"
)

// limits bound how much goes on at once.
type limits struct {
	entrance *entrance
	// callers are the requests of callers who are known, publics those of operations that are for all.
	callers, publics *share.Shares
}

func newLimits() limits {
	return limits{newEntrance(), share.New(MaxRequests, maxRequestsOfOne, sureOfCaller), share.New(maxStrangers, MaxStrangersOfOne, sureOfStranger)}
}

// move lets a request go on in another share. False says that it is full.
func (r *Request) move(to *share.Shares, party string) bool {
	leave := to.Take(party)
	if leave == nil {
		return false
	}
	if r.leave != nil {
		r.leave()
	}
	r.leave = leave
	return true
}

// tooMany tells a client to come again.
func tooMany(w http.ResponseWriter, r *http.Request) { WriteProblem(w, r, full(w)) }

// full is what a client is told that has to come again; when, stands in a header.
func full(w http.ResponseWriter) *problem.Problem {
	w.Header().Set("Retry-After", "1")
	return problem.New(http.StatusTooManyRequests, rest.CodeTooMany, "too many requests at once; retry after a second")
}

// limited bounds what one request may send and how many there are at once.
func (l *limits) limited(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name := range r.Header {
			if forged(name) {
				WriteProblem(w, r, problem.New(http.StatusBadRequest, rest.CodeInvalid, "the request is not valid",
					rest.FieldError{Pointer: ":" + name, Detail: "is not accepted from any caller"}))
				return
			}
		}
		if _, local := socket.PeerOf(r.Context()); local {
			if header, why := socket.Foreign(r); header != "" {
				WriteProblem(w, r, problem.New(http.StatusBadRequest, rest.CodeInvalid, "the request is not valid", rest.FieldError{Pointer: ":" + header, Detail: why}))
				return
			}
		}
		known := Of(r.Context())
		if known.leave = l.entrance.enter(r.Context(), partyOf(originOf(r).Address)); known.leave == nil {
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
	request *Request
}

// Read remembers when it could not: that is the client's mistake, and no error of the server.
func (b *received) Read(data []byte) (int, error) {
	n, err := b.ReadCloser.Read(data)
	if err != nil && !errors.Is(err, io.EOF) {
		b.request.torn = true
	}
	return n, err
}

// forged says whether a header claims to say who the caller is, as proxies and API servers do among themselves.
func forged(name string) bool {
	return strings.HasPrefix(name, "Impersonate-") || strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-User")
}
