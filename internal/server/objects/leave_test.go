package objects

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/server/chain"
	"kqueen.io/kqueen/internal/server/problem"
	"kqueen.io/kqueen/internal/tenancy/access"
)

// recorded remembers when events were sent.
type recorded struct {
	*httptest.ResponseRecorder

	began time.Time
	sent  []time.Duration
}

func (r *recorded) Write(data []byte) (int, error) {
	if bytes.HasPrefix(data, []byte("event: added")) {
		r.sent = append(r.sent, time.Since(r.began))
	}
	return r.ResponseRecorder.Write(data)
}

func (r *recorded) SetReadDeadline(time.Time) error  { return nil }
func (r *recorded) SetWriteDeadline(time.Time) error { return nil }

// eachSecond is a source with an event half a second after each second.
func eachSecond(ctx context.Context) *watch.RaceFreeFakeWatcher {
	source := watch.NewRaceFreeFake()
	var send func()
	send = func() {
		if ctx.Err() == nil {
			source.Add(&v1alpha1.Cluster{})
			time.AfterFunc(time.Second, send)
		}
	}
	time.AfterFunc(time.Second/2, send)
	return source
}

// TestLeave: a caller who may not any more is refused at the next look. One of whom that cannot be found out is told nothing
// meanwhile, keeps the stream for a bounded time, and is then told of an outage.
func TestLeave(t *testing.T) {
	const never = time.Hour
	outage := problem.Unasked(apierrors.NewForbidden(schema.GroupResource{Resource: "subjectaccessreviews"}, "", errors.New("not ready")))
	for name, tc := range map[string]struct {
		// found is what looks find that begin after 9 seconds, and until afterwards nil; silence is a look without an answer.
		found error
		until time.Duration
		// held are the times between which nothing is sent, ends is when the stream does, and status that of its last event.
		held   [2]time.Duration
		ends   time.Duration
		status string
	}{
		"Allowed":     {nil, never, [2]time.Duration{never, never}, time.Minute, ""},
		"Forbidden":   {problem.Changed(), never, [2]time.Duration{10 * time.Second, never}, 10 * time.Second, "401"},
		"Revoked":     {access.ErrUnauthenticated, never, [2]time.Duration{10 * time.Second, never}, 10 * time.Second, "401"},
		"ShortOutage": {outage, 15 * time.Second, [2]time.Duration{10 * time.Second, 15 * time.Second}, time.Minute, ""},
		"LongOutage":  {outage, never, [2]time.Duration{10 * time.Second, never}, 5*time.Second + unasked, "503"},
		// The looks last from 10 to 15, 16 to 21, 22 to 27, 28 to 33 and 34 to 39 seconds after the beginning.
		"Silence": {context.DeadlineExceeded, never, [2]time.Duration{10 * time.Second, never}, 39 * time.Second, "503"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				out := &recorded{ResponseRecorder: httptest.NewRecorder(), began: time.Now()}
				ask := func(ctx context.Context) error {
					if passed := time.Since(out.began); passed < 9*time.Second || passed >= tc.until {
						return nil
					}
					if errors.Is(tc.found, context.DeadlineExceeded) {
						<-ctx.Done()
					}
					return tc.found
				}
				v := &view{wanted: func(client.Object) bool { return true }, encode: func(client.Object) (any, error) { return "", nil }}
				if err := (feed{&chain.Streams{}}).stream(ctx, newSSE(out), eachSecond(ctx), v, &leave{ask: ask, given: out.began}); err != nil {
					t.Fatal(err)
				}
				_, last, _ := strings.Cut(out.Body.String(), "event: problem")
				if took := time.Since(out.began); took != tc.ends || (last == "") != (tc.status == "") || !strings.Contains(last, `"status":`+tc.status) && tc.status != "" {
					t.Errorf("it ends after %s with %q, want after %s with %q", took, last, tc.ends, tc.status)
				}
				late := slices.IndexFunc(out.sent, func(at time.Duration) bool { return at > tc.held[0] && at < tc.held[1] })
				if late >= 0 {
					t.Errorf("an event is sent at %s, when it was not known whether the caller may see it", out.sent[late])
				}
				if want := int(min(tc.held[0], tc.ends) / time.Second); tc.status != "" && len(out.sent) != want || tc.status == "" && len(out.sent) != 60 {
					t.Errorf("%d events are sent, want %d, or all when it goes on", len(out.sent), want)
				}
			})
		})
	}
}
