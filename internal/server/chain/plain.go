package chain

import (
	"net/http"

	"kqueen.io/kqueen/internal/server/problem"
)

// Authenticated lets callers through who are known, to what is no operation of the REST API and is not in the audit log.
func (c *Chain) Authenticated(next http.Handler) http.Handler {
	return c.Plain(next, func(*http.Request) About { return About{} }, WriteProblem)
}

// ForAll lets all callers through, in the share of those who are not known.
func (c *Chain) ForAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := Of(r.Context())
		known.Arrive(r)
		if !known.move(c.limits.publics, partyOf(known.From.Address)) {
			tooMany(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// About is what a request is about that is no operation of the document. An empty Action is not in the audit log.
type About struct {
	Entry

	Object Object
}

// Refusal writes the answer to a request that is not served.
type Refusal func(w http.ResponseWriter, r *http.Request, p *problem.Problem)

// Plain puts the chain before a handler that is no operation of the document: its caller is authenticated by a token, counted in
// the caller's share, and named in the context; what about says is in the audit log with its outcome. Refused requests are
// answered by refuse.
func (c *Chain) Plain(next http.Handler, about func(*http.Request) About, refuse Refusal) http.Handler {
	return c.PlainFor(next, about, refuse, c.byToken)
}

// Authentication finds out whose a request is and notes it. Errors: access.ErrUnauthenticated; another one says that this could not
// be found out.
type Authentication func(r *http.Request, known *Request) error

// PlainFor is [Chain.Plain] for callers who prove themselves otherwise.
func (c *Chain) PlainFor(next http.Handler, about func(*http.Request) About, refuse Refusal, who Authentication) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known, what := Of(r.Context()), about(r)
		known.Arrive(r)
		known.Object = what.Object
		known.path = what.parameter
		if p := c.admit(w, r, known, who); p != nil {
			if what.Action != "" && !known.Known() {
				c.Recorder.Refused(r.Context(), what.Entry, p.Status)
			}
			refuse(w, r, p)
			return
		}
		r = r.WithContext(with(r.Context(), known))
		if what.Action == "" {
			next.ServeHTTP(w, r)
			return
		}
		a := &Answered{ResponseWriter: w}
		if err := c.Recorder.Around(r.Context(), what.Entry, func() int { next.ServeHTTP(a, r); return a.Status }); err != nil {
			refuse(w, r, problem.Of(err))
		}
	})
}

// ObjectPath is the path of an Entry whose object [About] names.
const ObjectPath = "/{object}"

// parameter is what the recorder reads of a path that ends with ObjectPath.
func (a About) parameter(name string) string {
	switch name {
	case "organization":
		return a.Object.Organization
	case "object":
		return a.Object.Name
	}
	return ""
}
