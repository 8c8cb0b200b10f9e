package server

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/access"
	"kqueen.io/kqueen/internal/audit"
)

// metaAction on an operation names what it is in the action log; operations without are not in it.
const metaAction = "action"

// recorded puts an operation into the action log under the name of an action.
func recorded(action string) func(*huma.Operation) {
	return func(o *huma.Operation) {
		if o.Metadata == nil {
			o.Metadata = map[string]any{}
		}
		o.Metadata[metaAction] = action
	}
}

// record writes into the action log what became of a request that changes something or gives something out. While the
// log cannot be written, or is not the one that was written, nothing is changed: what is done leaves a trace.
func (s *Server) record(ctx huma.Context, next func(huma.Context)) {
	if _, ok := ctx.Operation().Metadata[metaAction].(string); ok {
		if _, err := s.Audit.Head(ctx.Context()); err != nil {
			r, w := humago.Unwrap(ctx)
			requestOf(ctx.Context()).failure = err
			writeProblem(w, r, newProblem(http.StatusServiceUnavailable, rest.CodeUnavailable, "the action log cannot be written, so nothing is changed; tell an administrator"))
			return
		}
	}
	next(ctx)
	s.append(ctx, ctx.Status())
}

// refused writes down a try that got no further than who it was.
func (s *Server) refused(ctx huma.Context, p *problem) { s.append(ctx, p.Status) }

func (s *Server) append(ctx huma.Context, status int) {
	action, ok := ctx.Operation().Metadata[metaAction].(string)
	if !ok {
		return
	}
	known := requestOf(ctx.Context())
	if known.identity.Kind == "" && !s.strangers.allow() {
		return
	}
	r := audit.Record{
		Actor: actorOf(known), Action: action, Organization: known.object.organization,
		Object: audit.Object{Kind: known.object.kind, Name: known.object.name, UID: known.object.uid},
		Source: known.from.Address.String(), UserAgent: known.from.Client, RequestID: known.id,
		Outcome: outcomeOf(status), Status: status, Before: digest(known.before), After: digest(known.after), Detail: known.detail,
	}
	if known.failure != nil && r.Outcome == audit.Denied {
		r.Reason = "not identified"
	}
	if ctx.Query("dryRun") == "true" {
		r.Detail = map[string]string{"dryRun": "true"}
	}
	if known.identity.Kind == "" {
		if n := s.strangers.leftOut.Swap(0); n > 0 {
			r.Detail = map[string]string{"leftOut": strconv.FormatInt(n, 10)}
		}
	}
	if _, err := s.Audit.Append(ctx.Context(), r); err != nil {
		s.Log.Error("write the action log", "id", known.id, "action", action, "error", err)
	}
}

// Strangers may try as often as they like, and the log is kept for ever: it has this many of their tries a second, and
// so many at once. The next record says how many were left out.
const (
	strangersASecond = 2
	strangersAtOnce  = 100
)

// strangers counts the tries of those whom nobody knows.
type strangers struct {
	limit   *rate.Limiter
	leftOut atomic.Int64
}

func newStrangers() *strangers {
	return &strangers{limit: rate.NewLimiter(strangersASecond, strangersAtOnce)}
}

func (s *strangers) allow() bool {
	if s.limit.Allow() {
		return true
	}
	s.leftOut.Add(1)
	return false
}

func actorOf(known *request) audit.Actor {
	kinds := map[access.Kind]string{access.User: audit.User, access.ServiceAccount: audit.ServiceAccount}
	if kind, ok := kinds[known.identity.Kind]; ok {
		return audit.Actor{Kind: kind, Name: known.identity.Name, Credential: known.identity.Credential.ID}
	}
	return audit.Actor{Kind: audit.Anonymous}
}

func outcomeOf(status int) audit.Outcome {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusNotFound:
		return audit.Denied
	case status == 0, status >= http.StatusBadRequest:
		return audit.Failed
	}
	return audit.Succeeded
}

// digest is the hash of a content, and empty when there was none.
func digest(content []byte) string {
	if content == nil {
		return ""
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
