package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/time/rate"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
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

// endTimeout bounds what is written of a request when it is over; whoever made it may be gone.
const endTimeout = 10 * time.Second

// act is a request in the action log: what it is called there and, where there is one, the path of its operation.
type act struct {
	action, operation, path string
	dryRun                  bool
	// noted is what was written before anything was done; nil where nothing was.
	noted *audit.Act
}

// actOf says what an operation is in the action log, or that it is not in it.
func actOf(ctx huma.Context) (*act, bool) {
	o := ctx.Operation()
	action, ok := o.Metadata[metaAction].(string)
	return &act{action: action, operation: o.OperationID, path: o.Path, dryRun: ctx.Query("dryRun") == "true"}, ok
}

// record writes into the action log what became of a request that changes something or gives something out.
func (s *Server) record(ctx huma.Context, next func(huma.Context)) {
	a, ok := actOf(ctx)
	if !ok {
		next(ctx)
		return
	}
	if err := s.beginAct(ctx.Context(), a); err != nil {
		r, w := humago.Unwrap(ctx)
		requestOf(ctx.Context()).failure = err
		writeProblem(w, r, unrecorded())
		return
	}
	next(ctx)
	s.endAct(ctx.Context(), a, ctx.Status())
}

func unrecorded() *problem {
	return newProblem(http.StatusServiceUnavailable, rest.CodeUnavailable, "the action log cannot be written, so nothing is changed; tell an administrator")
}

// refused writes down a try that got no further than who it was.
func (s *Server) refused(ctx huma.Context, p *problem) {
	if a, ok := actOf(ctx); ok {
		requestOf(ctx.Context()).roomInLog = s.strangers.allow()
		s.endAct(ctx.Context(), a, p.Status)
	}
}

// beginAct notes a request before anything is done: what cannot be noted is not done, and what was interrupted leaves a
// trace, too.
func (s *Server) beginAct(ctx context.Context, a *act) (err error) {
	known := requestOf(ctx)
	known.roomInLog = known.identity.Kind != "" || s.strangers.allow()
	if !known.roomInLog {
		_, err = s.Audit.Head(ctx)
		return err
	}
	r := s.describe(ctx, a, 0)
	r.Organization, r.Object.Name = known.path("organization"), lastParameter(a.path, known.path)
	r.Detail = map[string]string{"operation": a.operation}
	a.noted, err = s.Audit.Begin(ctx, r)
	return err
}

// lastParameter is the value of a path's last parameter, which names what the path is of.
func lastParameter(path string, value func(string) string) string {
	i, j := strings.LastIndexByte(path, '{'), strings.LastIndexByte(path, '}')
	if i < 0 || j < i || path[i+1:j] == "organization" {
		return ""
	}
	return value(path[i+1 : j])
}

// endAct writes what became of a request, also when whoever made it has gone away.
func (s *Server) endAct(ctx context.Context, a *act, status int) {
	known := requestOf(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var err error
	switch {
	case known.unremarkable && a.noted != nil:
		err = a.noted.Drop(ctx)
	case known.unremarkable:
	case a.noted != nil:
		_, err = a.noted.End(ctx, s.describe(ctx, a, status))
	case known.identity.Kind == "" && !known.roomInLog:
		s.strangers.leftOut.Add(1)
	default:
		_, err = s.Audit.Append(ctx, s.describe(ctx, a, status))
	}
	if err != nil {
		s.Log.Error("write the action log", "id", known.id, "action", a.action, "error", err)
	}
}

// describe is the record of a request, as far as it is known.
func (s *Server) describe(ctx context.Context, a *act, status int) audit.Record {
	known := requestOf(ctx)
	r := audit.Record{
		Actor: actorOf(known), Action: a.action, Organization: known.object.organization,
		Object: audit.Object{Kind: known.object.kind, Name: known.object.name, UID: known.object.uid},
		Source: sourceOf(ctx, known), UserAgent: known.from.Client, RequestID: known.id,
		Outcome: outcomeOf(status), Status: status, Before: digest(known.before), After: digest(known.after), Detail: known.detail,
	}
	if known.failure != nil && known.identity.Kind == "" && r.Outcome == audit.Denied {
		r.Reason = "not identified"
	}
	if a.dryRun {
		r.Detail = map[string]string{"dryRun": "true"}
	}
	if known.identity.Kind == "" && status != 0 {
		if n := s.strangers.leftOut.Swap(0); n > 0 {
			r.Detail = maps.Clone(r.Detail)
			if r.Detail == nil {
				r.Detail = map[string]string{}
			}
			r.Detail["leftOut"] = strconv.FormatInt(n, 10)
		}
	}
	return r
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

func (s *strangers) allow() bool { return s.limit.Allow() }

// sourceOf is where a request comes from: an address or, on the local socket, a user of the operating system.
func sourceOf(ctx context.Context, known *request) string {
	if peer, local := socket.PeerOf(ctx); local {
		return peer.String()
	}
	return known.from.Address.String()
}

func actorOf(known *request) audit.Actor {
	kinds := map[access.Kind]string{access.User: audit.User, access.ServiceAccount: audit.ServiceAccount, ownerKind: audit.Owner}
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
