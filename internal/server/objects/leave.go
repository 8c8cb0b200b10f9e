package objects

import (
	"context"
	"net/http"
	"time"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/internal/server/problem"
)

const (
	// recheck is the time between two looks at whether the caller may still see what is sent.
	recheck = 5 * time.Second
	// recheckSoon is the same after a look that found nothing out.
	recheckSoon = time.Second
	// recheckWithin bounds a look.
	recheckWithin = 5 * time.Second
	// unasked is how long a stream is kept open whose caller cannot be asked about: for longer than an API server of the admin plane
	// takes to start again, so that its callers need not begin anew, and no longer, since they are told nothing meanwhile and may well
	// ask another replica. A caller who may not see it any more learns nothing by it: nothing is sent before the next look.
	unasked = 30 * time.Second
)

// leave is a caller's leave to see what a stream sends.
type leave struct {
	ask func(context.Context) error
	// given is when it was last found to be there, and held says that the look after that found nothing out.
	given time.Time
	held  bool
}

// renew asks again. What it returns is why the stream ends; nil when it goes on. An outage is no refusal: meanwhile the leave is held, and
// nothing is sent.
func (l *leave) renew(ctx context.Context) *problem.Problem {
	began := time.Now()
	asking, cancel := context.WithTimeout(ctx, recheckWithin)
	defer cancel()
	err := l.ask(asking)
	switch {
	case err == nil:
		l.given, l.held = began, false
		return nil
	case problem.Refuses(err):
		return problem.New(http.StatusUnauthorized, rest.CodeUnauthenticated, "you are not allowed to see this any more")
	case time.Since(l.given) >= unasked:
		return problem.New(http.StatusServiceUnavailable, rest.CodeUnavailable, "whether you may still see this cannot be found out now; go on from the last event in a moment")
	}
	l.held = true
	return nil
}

// again is when to ask the next time.
func (l *leave) again() time.Duration {
	if l.held {
		return recheckSoon
	}
	return recheck
}
