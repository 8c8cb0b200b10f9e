package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"time"
)

const (
	mostTries    = 4
	firstBackoff = 200 * time.Millisecond
	// longestAfter is the longest time that a server can make a caller wait.
	longestAfter = 30 * time.Second
)

// connectionError is a try of which it is not known whether it reached the server.
type connectionError struct{ error }

// Unwrap returns the cause.
func (e *connectionError) Unwrap() error { return e.error }

// decide says whether to try again and after what time. It is pure, but for the jitter. try counts from one.
func decide(ctx context.Context, method string, try int, a *answer, err error) (time.Duration, bool) {
	repeatable := slices.Contains([]string{http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete}, method) // RFC 9110, 9.2.2
	if !repeatable || try >= mostTries || ctx.Err() != nil {
		return 0, false
	}
	if err != nil {
		_, again := errors.AsType[*connectionError](err)
		backoff := firstBackoff << (try - 1)
		return backoff/2 + rand.N(backoff/2), again //nolint:gosec // nothing is to be guessed
	}
	if a.status != http.StatusTooManyRequests && a.status != http.StatusServiceUnavailable {
		return 0, false
	}
	return retryAfter(a.header.Get("Retry-After"), time.Now())
}

// retryAfter reads a Retry-After: seconds, or a date (RFC 9110, 10.2.3). A time that is too long is none.
func retryAfter(value string, now time.Time) (time.Duration, bool) {
	if seconds, err := strconv.ParseUint(value, 10, 16); err == nil {
		after := time.Duration(seconds) * time.Second
		return after, after <= longestAfter
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	after := max(at.Sub(now), 0)
	return after, after <= longestAfter
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
