package chain

import (
	"net/http"

	"kqueen.io/kqueen/internal/tenancy/access"
)

// SessionCookie holds the session of a browser. The prefix keeps others, such as a neighbour under the same domain, from setting it.
const SessionCookie = "__Host-kqueen"

// byTokenOrPage authenticates the caller by a session or token of the REST API or, where the request brings none, by the session of a
// browser that shows a page of this server.
func (c *Chain) byTokenOrPage(r *http.Request, known *Request) error {
	if len(r.Header.Values("Authorization")) > 0 {
		return c.byToken(r, known)
	}
	cookie, err := r.Cookie(SessionCookie)
	if err != nil || !known.fromPage(r) {
		return c.byToken(r, known)
	}
	return c.Identities.Authenticate(r.Context(), known, cookie.Value, access.Session) // tokens are for programs
}

// fromPage says whether a browser makes the request for a page of this server. Browsers send cookies with requests of other sites, too;
// which site it is they say in a header that no script can set. One that is too old to say so is not signed in here.
func (r *Request) fromPage(from *http.Request) bool {
	if from.Header.Get("Sec-Fetch-Site") != "same-origin" {
		return false
	}
	origin := from.Header.Get("Origin")
	if from.Method == http.MethodGet || from.Method == http.MethodHead {
		return origin == "" || origin == r.Base()
	}
	return origin == r.Base()
}
