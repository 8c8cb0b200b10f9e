package chain

import (
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/server/socket"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// identify authenticates the caller. An unauthenticated caller gets no further than the operations that are public.
func (c *Chain) identify(ctx huma.Context, next func(huma.Context)) {
	r, w := humago.Unwrap(ctx)
	known := Of(ctx.Context())
	known.path = r.PathValue
	known.Arrive(r)
	if _, local := socket.PeerOf(ctx.Context()); IsPublic(ctx.Operation()) && !local {
		if !known.move(c.limits.publics, partyOf(known.From.Address)) {
			tooMany(w, r)
			return
		}
		next(&reading{ctx, known})
		return
	}
	if p := c.admit(w, r, known, c.byTokenOrPage); p != nil {
		if e, ok := entryOf(ctx); ok && !known.Known() {
			c.Recorder.Refused(ctx.Context(), e, p.Status)
		}
		WriteProblem(w, r, p)
		return
	}
	next(&reading{huma.WithContext(ctx, with(ctx.Context(), known)), known})
}

// byToken authenticates the caller by a session or token of the REST API.
func (c *Chain) byToken(r *http.Request, known *Request) error {
	return c.Identities.Authenticate(r.Context(), known, BearerOf(r))
}

// admit authenticates the caller of a request and counts it in the caller's share, or returns why not; headers that belong to that
// are set.
func (c *Chain) admit(w http.ResponseWriter, r *http.Request, known *Request, who Authentication) *problem.Problem {
	if err := who(r, known); err != nil {
		known.Failure = err
		if !problem.Refuses(err) {
			return problem.Of(err)
		}
		w.Header().Set("WWW-Authenticate", `Bearer realm="kqueen"`)
		return problem.New(http.StatusUnauthorized, rest.CodeUnauthenticated, "sign in, or send a valid token: Authorization: Bearer …")
	}
	if !known.move(c.limits.callers, known.Caller.Name) {
		return full(w)
	}
	return nil
}

// below is a huma.Context whose method Context does not clash with its name as a field.
type below = huma.Context

// reading says 400 where huma says 500 to a body that did not come to its end.
type reading struct {
	below

	request *Request
}

// Unwrap lets huma find the request below.
func (r *reading) Unwrap() huma.Context { return r.below }

func (r *reading) SetStatus(status int) {
	if status == http.StatusInternalServerError && r.request.torn {
		status = http.StatusBadRequest
	}
	r.below.SetStatus(status)
}

// BearerOf is the token that a request brings; empty for none.
func BearerOf(r *http.Request) string {
	scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// Arrive notes where a request comes from, and how the client calls the server.
func (r *Request) Arrive(from *http.Request) { r.From, r.host = originOf(from), from.Host }

// originOf is where a request comes from. What a proxy says of it is not believed.
func originOf(r *http.Request) access.Origin {
	origin := access.Origin{Client: r.UserAgent()}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return origin
	}
	if address, err := netip.ParseAddr(host); err == nil {
		origin.Address = address.Unmap().WithZone("")
	}
	return origin
}
