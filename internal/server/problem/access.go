package problem

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/platform/invalid"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// accessErrors are the errors of accounts, and of the steps of signing in, that callers are told of.
func accessErrors() []struct {
	err    error
	status int
	code   string
	detail string
} {
	return []struct {
		err    error
		status int
		code   string
		detail string
	}{
		{access.ErrUnauthenticated, http.StatusUnauthorized, rest.CodeUnauthenticated, ""},
		{access.ErrNotFound, http.StatusNotFound, rest.CodeNotFound, ""},
		{access.ErrExists, http.StatusConflict, rest.CodeExists, ""},
		{access.ErrSpent, http.StatusUnauthorized, rest.CodeUnauthenticated, ""},
		{access.ErrSetUp, http.StatusConflict, rest.CodeExists, ""},
		{access.ErrLastAdmin, http.StatusConflict, rest.CodeConflict, ""},
		{access.ErrNeedsSession, http.StatusForbidden, rest.CodeForbidden, ""},
		{access.ErrNeedsMint, http.StatusForbidden, rest.CodeForbidden, ""},
		{access.ErrProviderUser, http.StatusConflict, rest.CodeConflict, ""},
		{access.ErrTooMany, http.StatusTooManyRequests, rest.CodeTooMany, ""},

		{access.ErrInvalidGrant, http.StatusUnauthorized, rest.CodeInvalidGrant, "the code is not valid, or was used; start again"},
	}
}

// NeedsFresh is the answer to a user who has to sign in again for what they ask: the challenge is that of RFC 9470, which
// browsers and command lines read to let their user do so.
func NeedsFresh() error {
	p := New(http.StatusUnauthorized, rest.CodeNeedsFresh, fmt.Sprintf(
		"this needs a session in which you signed in within the last %d minutes; sign in again, and repeat it", int(access.FreshFor.Minutes())))
	challenge := fmt.Sprintf(`Bearer realm="kqueen", error="insufficient_user_authentication", error_description="sign in again", max_age=%d`,
		int(access.FreshFor.Seconds()))
	return huma.ErrorWithHeaders(p, http.Header{"WWW-Authenticate": {challenge}})
}

// ExplainAccess makes a problem of what an act on accounts ended with, or a step of signing in. It is nil for nil.
func ExplainAccess(err error) error {
	if locked, ok := errors.AsType[*access.LockedError](err); ok {
		p := New(http.StatusTooManyRequests, rest.CodeTooMany, locked.Error())
		seconds := int(time.Until(locked.Until).Seconds()) + 1
		return huma.ErrorWithHeaders(p, http.Header{"Retry-After": {strconv.Itoa(max(seconds, 1))}})
	}
	if bad, ok := errors.AsType[*invalid.Error](err); ok {
		return New(http.StatusUnprocessableEntity, rest.CodeInvalid, "the request is not valid", rest.FieldError{Pointer: "/" + bad.Field, Detail: bad.Detail()})
	}
	if errors.Is(err, access.ErrNeedsFresh) {
		return NeedsFresh()
	}
	for _, known := range accessErrors() {
		if !errors.Is(err, known.err) {
			continue
		}
		p := New(known.status, known.code, known.detail)
		if p.Detail == "" {
			p.Detail = known.err.Error()
		}
		return p
	}
	return Explain(err)
}
