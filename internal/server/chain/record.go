package chain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
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
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/access"
	"kqueen.io/kqueen/internal/tenancy/audit"
)

// metaAction on an operation names what it is in the audit log; operations without are not in it.
const metaAction = "action"

// Recorded puts an operation into the audit log under the name of an action.
func Recorded(action string) func(*huma.Operation) {
	return func(o *huma.Operation) {
		if o.Metadata == nil {
			o.Metadata = map[string]any{}
		}
		o.Metadata[metaAction] = action
	}
}

// ActionOf is what an operation is called in the audit log; empty for one that is not in it.
func ActionOf(o *huma.Operation) string {
	action, _ := o.Metadata[metaAction].(string)
	return action
}

// endTimeout bounds what is written of a request when it has ended; the client may be gone.
const endTimeout = 10 * time.Second

// Strangers may try as often as they like, and the log is kept for ever: it has this many of their tries a second, and
// so many at once. The next record says how many were left out.
const (
	strangersASecond = 2
	strangersAtOnce  = 100
)

// Recorder writes into the audit log what becomes of requests that change something or give something out, whichever way
// they come.
type Recorder struct {
	audit *audit.Log
	log   *slog.Logger
	// strangers limits the attempts of unauthenticated callers that are recorded, and leftOut counts those that are not.
	strangers *rate.Limiter
	leftOut   atomic.Int64
}

func newRecorder(log *audit.Log, failures *slog.Logger) *Recorder {
	return &Recorder{audit: log, log: failures, strangers: rate.NewLimiter(strangersASecond, strangersAtOnce)}
}

// Entry is a request in the audit log: what it is called there and, where there is one, the path of its operation.
type Entry struct {
	Action, Operation, Path string
	DryRun                  bool
}

// entryOf says what an operation is in the audit log, or that it is not in it.
func entryOf(ctx huma.Context) (Entry, bool) {
	o := ctx.Operation()
	e := Entry{Action: ActionOf(o), Operation: o.OperationID, Path: o.Path, DryRun: ctx.Query("dryRun") == "true"}
	return e, e.Action != ""
}

// record puts operations of the REST API into the audit log.
func (r *Recorder) record(ctx huma.Context, next func(huma.Context)) {
	e, ok := entryOf(ctx)
	if !ok {
		next(ctx)
		return
	}
	if err := r.Around(ctx.Context(), e, func() int { next(ctx); return ctx.Status() }); err != nil {
		from, w := humago.Unwrap(ctx)
		WriteProblem(w, from, problem.Of(err))
	}
}

// Around notes a request, serves it, and writes what became of it by the status that serve returns. What cannot be noted
// is not served, and the error is a problem for the caller; what is interrupted leaves a trace, too.
func (r *Recorder) Around(ctx context.Context, e Entry, serve func() int) error {
	noted, err := r.begin(ctx, e)
	if err != nil {
		Of(ctx).Failure = err
		return problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, "the audit log cannot be written, so nothing is changed; tell an administrator")
	}
	r.end(ctx, e, noted, serve())
	return nil
}

// Refused writes down a try that got no further than who it was.
func (r *Recorder) Refused(ctx context.Context, e Entry, status int) {
	Of(ctx).logged = r.strangers.Allow()
	r.end(ctx, e, nil, status)
}

// begin notes a request before anything is done; it returns nil where nothing is noted.
func (r *Recorder) begin(ctx context.Context, e Entry) (*audit.Act, error) {
	known := Of(ctx)
	known.logged = known.Known() || r.strangers.Allow()
	if !known.logged {
		_, err := r.audit.Head(ctx)
		return nil, err
	}
	record := r.describe(ctx, e, 0)
	record.Organization, record.Object.Name = known.path("organization"), lastParameter(e.Path, known.path)
	record.Detail = map[string]string{"operation": e.Operation}
	return r.audit.Begin(ctx, record)
}

// lastParameter is the value of a path's last parameter, which names what the path is of.
func lastParameter(path string, value func(string) string) string {
	i, j := strings.LastIndexByte(path, '{'), strings.LastIndexByte(path, '}')
	if i < 0 || j < i || path[i+1:j] == "organization" {
		return ""
	}
	return value(path[i+1 : j])
}

// end writes what became of a request, also when the client has gone away.
func (r *Recorder) end(ctx context.Context, e Entry, noted *audit.Act, status int) {
	known := Of(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	var err error
	switch {
	case known.Unremarkable && noted != nil:
		err = noted.Drop(ctx)
	case known.Unremarkable:
	case noted != nil:
		_, err = noted.End(ctx, r.describe(ctx, e, status))
	case !known.Known() && !known.logged:
		r.leftOut.Add(1)
	default:
		_, err = r.audit.Append(ctx, r.describe(ctx, e, status))
	}
	if err != nil {
		r.log.Error("write the audit log", "id", known.ID, "action", e.Action, "error", err)
	}
}

// describe is the record of a request, as far as it is known.
func (r *Recorder) describe(ctx context.Context, e Entry, status int) audit.Record {
	known := Of(ctx)
	record := audit.Record{
		Actor: actorOf(known), Action: e.Action, Organization: known.Object.Organization,
		Object: audit.Object{Kind: known.Object.Kind, Name: known.Object.Name, UID: known.Object.UID},
		Source: sourceOf(ctx, known), UserAgent: known.From.Client, RequestID: known.ID,
		Outcome: outcomeOf(status), Status: status, Before: digest(known.Before), After: digest(known.After), Detail: known.Detail,
	}
	if known.Denied {
		record.Outcome = audit.Denied
	}
	if known.Failure != nil && !known.Known() && record.Outcome == audit.Denied {
		record.Reason = "not identified"
	}
	if e.DryRun {
		record.Detail = map[string]string{"dryRun": "true"}
	}
	if !known.Known() && status != 0 {
		if n := r.leftOut.Swap(0); n > 0 {
			record.Detail = maps.Clone(record.Detail)
			if record.Detail == nil {
				record.Detail = map[string]string{}
			}
			record.Detail["leftOut"] = strconv.FormatInt(n, 10)
		}
	}
	return record
}

// sourceOf is where a request comes from: an address or, on the local socket, a user of the operating system.
func sourceOf(ctx context.Context, known *Request) string {
	if peer, local := socket.PeerOf(ctx); local {
		return peer.String()
	}
	return known.From.Address.String()
}

func actorOf(known *Request) audit.Actor {
	kinds := map[access.Kind]string{access.User: audit.User, access.ServiceAccount: audit.ServiceAccount, OwnerKind: audit.Owner}
	if kind, ok := kinds[known.Identity.Kind]; ok {
		return audit.Actor{Kind: kind, Name: known.Identity.Name, Credential: known.Identity.Credential.ID}
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
