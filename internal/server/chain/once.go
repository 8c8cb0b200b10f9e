package chain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/idempotency"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/server/problem"
)

const headerIdempotencyKey = "Idempotency-Key"

// metaRepeat on an operation says what becomes of a request that is sent again with the same key.
const metaRepeat = "repeat"

// Repeat is what a request is answered that is sent again with the same key. It has done its work the first time.
type Repeat string

const (
	// Replayed answers with what the first request was answered. The handler calls [Once].
	Replayed Repeat = "replayed"
	// Named answers 409 and names what the first request made: its answer had a secret, which is not kept. The handler
	// calls [OnceSecret].
	Named Repeat = "named"
)

// Keyed lets callers send an Idempotency-Key with an operation. Others take none: what they do, they may do again.
func Keyed(repeat Repeat) func(*huma.Operation) {
	says := map[Repeat]string{
		Replayed: "The same request with the same key, within a day, gets the first one's answer and does nothing.",
		Named:    "The same request with the same key, within a day, does nothing, and answers 409 with what the first one made.",
	}
	return func(o *huma.Operation) {
		if o.Metadata == nil {
			o.Metadata = map[string]any{}
		}
		o.Metadata[metaRepeat] = repeat
		o.Errors = append(o.Errors, http.StatusConflict)
		o.Parameters = append(o.Parameters, &huma.Param{
			Name: headerIdempotencyKey, In: "header", Description: says[repeat], Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
}

// RepeatOf is what Keyed said of an operation; empty for one that takes no key.
func RepeatOf(o *huma.Operation) Repeat {
	repeat, _ := o.Metadata[metaRepeat].(Repeat)
	return repeat
}

// once remembers the answers to requests that were given a key.
type once struct {
	answers *idempotency.Store
	log     *slog.Logger
}

// attempt is a request whose caller has chosen a key.
type attempt struct {
	once

	caller  idempotency.Caller
	key     string
	request [32]byte
	// replayed tells the client that the answer is an earlier one.
	replayed func()
}

// prepare notes a request's key and what it says. Nothing is answered from what is kept before the handler knows that the
// caller may have it, and asks by [Once]; the audit log has noted the request by then.
func (o once) prepare(ctx huma.Context, next func(huma.Context)) {
	key := ctx.Header(headerIdempotencyKey)
	if key == "" || RepeatOf(ctx.Operation()) == "" {
		next(ctx)
		return
	}
	r, _ := humago.Unwrap(ctx)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(ctx, unread(err))
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	known := Of(ctx.Context())
	known.attempt = &attempt{
		once: o, caller: known.keeper(), key: key,
		request:  sha256.Sum256([]byte(r.Method + "\x00" + r.URL.RequestURI() + "\x00" + string(body))),
		replayed: func() { ctx.SetHeader("Idempotency-Replayed", "true") },
	}
	next(ctx)
}

func unread(err error) *problem.Problem {
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return problem.New(http.StatusRequestEntityTooLarge, rest.CodeTooLarge, "the body is too large")
	}
	return problem.New(http.StatusBadRequest, rest.CodeInvalid, "the body is incomplete")
}

// keeper is whose an answer is: a session's or token's, of this life of its account. Another token of the same user may be
// narrowed, and a user who was created again under the same name is another one.
func (r *Request) keeper() idempotency.Caller {
	i := r.Identity
	return idempotency.Caller{
		Account: string(i.Kind) + "\x00" + i.Name,
		Credential: strings.Join([]string{
			string(i.Credential.Kind), i.Credential.ID, strconv.FormatInt(i.Generation, 10),
		}, "\x00"),
	}
}

// kept is what is kept of what an act ended with.
type kept struct {
	// UID is that of what was made, for the audit log.
	UID    string          `json:"uid,omitempty"`
	Answer json.RawMessage `json:"answer,omitempty"`
	// Made names what was made, where the answer has a secret and is not kept.
	Made string `json:"made,omitempty"`
}

// Once carries out an act of an operation that is Keyed as Replayed, or returns what it returned the first time. Call it
// when the caller is known to be allowed the act. What fails has done nothing, and may be tried again with its key.
func Once[T any](ctx context.Context, act func() (*T, error)) (*T, error) {
	return repeat(ctx, act, func(answer *T) (kept, error) {
		content, err := json.Marshal(answer)
		return kept{Answer: content}, err
	})
}

// OnceSecret is Once for an operation that is Keyed as Named. made names what was made, as "the token kq…", without a
// secret.
func OnceSecret[T any](ctx context.Context, act func() (*T, error), made func(*T) string) (*T, error) {
	return repeat(ctx, act, func(answer *T) (kept, error) { return kept{Made: made(answer)}, nil })
}

func repeat[T any](ctx context.Context, act func() (*T, error), keep func(*T) (kept, error)) (*T, error) {
	known := Of(ctx)
	a := known.attempt
	if a == nil {
		return act()
	}
	before, claim, err := a.answers.Begin(ctx, a.caller, a.key, a.request)
	if err != nil {
		return nil, explainOnce(err)
	}
	if before != nil {
		return replay[T](known, before)
	}
	answer, err := act()
	if err != nil {
		a.settle(known.ID, claim.Release(ctx))
		return nil, err
	}
	what, err := keep(answer)
	what.UID = known.Object.UID
	content, unwritten := json.Marshal(what)
	if err = errors.Join(err, unwritten); err == nil {
		err = claim.Finish(ctx, idempotency.Answer{Body: content})
	}
	a.settle(known.ID, err)
	return answer, nil
}

// settle writes down that a key could not be kept or freed: the caller has an answer all the same.
func (a *attempt) settle(requestID string, err error) {
	if err != nil {
		a.log.Error("keep the answer to a key", "id", requestID, "error", err)
	}
}

// replay returns an earlier answer, or says why it cannot be given again.
func replay[T any](known *Request, before *idempotency.Answer) (*T, error) {
	known.Detail = maps.Clone(known.Detail)
	if known.Detail == nil {
		known.Detail = map[string]string{}
	}
	known.Detail["replayed"] = "true"
	var was kept
	if before.TooLong {
		was.Made = "what it asks for; the answer was too long to be kept"
	} else if err := json.Unmarshal(before.Body, &was); err != nil {
		return nil, problem.Explain(err)
	}
	known.Object.UID = was.UID
	if was.Made != "" {
		return nil, problem.New(http.StatusConflict, rest.CodeDone, "the first request with this Idempotency-Key made "+was.Made)
	}
	answer := new(T)
	if err := json.Unmarshal(was.Answer, answer); err != nil {
		return nil, problem.Explain(err)
	}
	known.attempt.replayed()
	return answer, nil
}

// explainOnce is the problem of a request with a key that is neither carried out nor answered from what is kept.
func explainOnce(err error) error {
	wrong := func(detail string) error {
		return problem.New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid",
			rest.FieldError{Pointer: ":" + headerIdempotencyKey, Detail: detail})
	}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return wrong(bad.Problem)
	}
	if _, ok := errors.AsType[*idempotency.ReusedError](err); ok {
		return wrong("was used for another request; want a new key for each request, and the same one only to repeat it")
	}
	if running, ok := errors.AsType[*idempotency.RunningError](err); ok {
		p := problem.New(http.StatusConflict, rest.CodeConflict, "the first request with this key is still running")
		seconds := strconv.Itoa(max(int(running.RetryAfter.Seconds()), 1))
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {seconds}})
	}
	if _, ok := errors.AsType[*idempotency.TooManyError](err); ok {
		return problem.New(http.StatusTooManyRequests, rest.CodeTooMany, "too many idempotency keys of this caller within a day")
	}
	return problem.Explain(err)
}
