package chain

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/problem"
)

const headerIdempotencyKey = "Idempotency-Key"

// once remembers the answers to requests that were given a key.
type once struct {
	answers *idempotency.Store
	log     *slog.Logger
}

// answer lets a caller send a POST again whose answer was lost: the second one gets the answer of the first and does
// nothing. A server that failed is asked again.
func (o once) answer(ctx huma.Context, next func(huma.Context)) {
	key := ctx.Header(headerIdempotencyKey)
	if key == "" || ctx.Method() != http.MethodPost || IsPublic(ctx.Operation()) {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		WriteProblem(w, r, problem.New(http.StatusRequestEntityTooLarge, rest.CodeTooLarge, "the body is too large"))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	known := Of(ctx.Context())
	hash := sha256.Sum256([]byte(r.Method + "\x00" + r.URL.RequestURI() + "\x00" + string(body)))
	before, claim, err := o.answers.Begin(ctx.Context(), known.Caller.Name, key, hash)
	if err != nil {
		known.Failure = err
		WriteProblem(w, r, explainOnce(w, err))
		return
	}
	if before != nil {
		replay(w, before)
		return
	}
	kept := &keeper{below: ctx, header: map[string]string{}}
	next(kept)
	if kept.Status() >= http.StatusInternalServerError || kept.Status() == http.StatusTooManyRequests || kept.Status() == 0 {
		err = claim.Release(ctx.Context())
	} else {
		err = claim.Finish(ctx.Context(), idempotency.Answer{Status: kept.Status(), Header: kept.header, Body: kept.body.Bytes()})
	}
	if err != nil {
		o.log.Error("keep the answer to a key", "id", known.ID, "error", err)
	}
}

// replay sends an answer once more.
func replay(w http.ResponseWriter, a *idempotency.Answer) {
	for name, value := range a.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Idempotency-Replayed", "true")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

func explainOnce(w http.ResponseWriter, err error) *problem.Problem {
	field := func(detail string) rest.FieldError {
		return rest.FieldError{Pointer: ":" + headerIdempotencyKey, Detail: detail}
	}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", field(bad.Problem))
	}
	if _, ok := errors.AsType[*idempotency.ReusedError](err); ok {
		return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			field("was used for another request; want a new key for each request, and the same one only to repeat it"))
	}
	if running, ok := errors.AsType[*idempotency.RunningError](err); ok {
		w.Header().Set("Retry-After", strconv.Itoa(max(int(running.RetryAfter.Seconds()), 1)))
		p := problem.New(http.StatusConflict, rest.CodeConflict, "the first request with this key is still running")
		return p
	}
	if _, ok := errors.AsType[*idempotency.TooManyError](err); ok {
		return problem.New(http.StatusTooManyRequests, rest.CodeTooMany, "too many idempotency keys of this caller within a day")
	}
	return problem.Of(err)
}

// below is a huma.Context whose method Context does not clash with its name as a field.
type below = huma.Context

// keeper keeps what is answered while it is sent.
type keeper struct {
	below

	header map[string]string
	body   bytes.Buffer
}

// Unwrap lets huma find the request below.
func (k *keeper) Unwrap() huma.Context { return k.below }

func (k *keeper) SetHeader(name, value string) {
	k.keep(name, value)
	k.below.SetHeader(name, value)
}

func (k *keeper) AppendHeader(name, value string) {
	k.keep(name, value)
	k.below.AppendHeader(name, value)
}

// keep keeps the headers that the second answer has to have too.
func (k *keeper) keep(name, value string) {
	switch http.CanonicalHeaderKey(name) {
	case "Content-Type", "Etag", "Link", "Location", "Retry-After":
		k.header[http.CanonicalHeaderKey(name)] = value
	}
}

// BodyWriter keeps what is written, up to what is kept at all.
func (k *keeper) BodyWriter() io.Writer { return io.MultiWriter(&k.body, k.below.BodyWriter()) }
