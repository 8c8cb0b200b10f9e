package verbs

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// there are the objects of a server, by name.
type there map[string]*v1alpha1.Cluster

func (t there) add(name string) {
	t[name] = &v1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), ResourceVersion: "1"}}
}

// breaking is a server whose watches break as soon as they have told what is there; the second is refused, and the
// fourth breaks before it has said that this is all.
type breaking struct {
	there   there
	watches int
}

// Watch implements watcher.
func (b *breaking) Watch(context.Context, objects.Set) (objects.Watch, error) {
	b.watches++
	if b.watches == 2 {
		return nil, syscall.ECONNREFUSED
	}
	w := &told{}
	for _, o := range b.there {
		w.events = append(w.events, objects.Event{Type: rest.EventAdded, Object: o})
	}
	if b.watches != 4 {
		w.events = append(w.events, objects.Event{Type: rest.EventBookmark})
	}
	return w, nil
}

// told is a watch that breaks after some events.
type told struct{ events []objects.Event }

// Next implements objects.Watch.
func (w *told) Next() (objects.Event, error) {
	if len(w.events) == 0 {
		return objects.Event{}, io.ErrUnexpectedEOF
	}
	event := w.events[0]
	w.events = w.events[1:]
	return event, nil
}

// Close implements objects.Watch.
func (w *told) Close() {}

// TestFollowSurvivesBrokenWatches breaks every watch before it can tell more than what is there, one when it has told a
// part, and one by refusing the connection, and wants every change to be seen all the same.
func TestFollowSurvivesBrokenWatches(t *testing.T) {
	b := &breaking{there: there{}}
	b.there.add("kept")
	b.there.add("doomed")
	var seen []string
	lost := 0
	f := &follower{
		client: b,
		source: kinds.Source{Kind: kinds.Cluster},
		lost:   func(error) { lost++ },
		see: func(changes []change) (bool, error) {
			for _, change := range changes {
				word := "is "
				if change.gone {
					word = "gone "
				}
				seen = append(seen, word+change.object.GetName())
			}
			switch len(seen) {
			case 2:
				delete(b.there, "doomed")
			case 3:
				b.there.add("late")
			}
			return len(seen) == 4, nil
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.run(ctx); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"is doomed", "is kept", "gone doomed", "is late"}, seen); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if lost != 2 {
		t.Errorf("outages were told %d times, want twice", lost)
	}
}

// away is a server that cannot be reached at first.
type away struct {
	err   error
	times int
}

// Watch implements watcher.
func (a *away) Watch(context.Context, objects.Set) (objects.Watch, error) {
	if a.times--; a.times >= 0 {
		return nil, a.err
	}
	return &told{[]objects.Event{{Type: rest.EventBookmark}}}, nil
}

// TestFollowFromTheBeginning wants an outage at the first call to be an error, unless the work has begun, and a refusal to
// be one in any case.
func TestFollowFromTheBeginning(t *testing.T) {
	refused := &rest.Problem{Status: 403, Code: rest.CodeForbidden}
	for name, tc := range map[string]struct {
		err   error
		begun bool
		want  error
	}{
		"Away":         {syscall.ECONNREFUSED, false, syscall.ECONNREFUSED},
		"AwayMeantime": {syscall.ECONNREFUSED, true, nil},
		"Busy":         {&rest.Problem{Status: 429, Code: rest.CodeTooMany}, true, nil},
		"Refused":      {refused, true, refused},
	} {
		t.Run(name, func(t *testing.T) {
			f := &follower{
				client: &away{tc.err, 1}, source: kinds.Source{Kind: kinds.Cluster}, begun: tc.begun,
				lost: func(error) {}, see: func([]change) (bool, error) { return true, nil },
			}
			if err := f.run(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

// TestPassing: what may go away is waited for, and what cannot is not.
func TestPassing(t *testing.T) {
	machines := schema.GroupResource{Resource: "nodes"}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"Away":           {fmt.Errorf("watch: %w", syscall.ECONNREFUSED), true},
		"CutOff":         {io.ErrUnexpectedEOF, true},
		"Busy":           {&rest.Problem{Status: 429, Code: rest.CodeTooMany}, true},
		"Starting":       {&rest.Problem{Status: 503}, true},
		"ProxyOnItsOwn":  {&rest.Problem{Status: 502}, true},
		"OldRevision":    {&rest.Problem{Status: 410, Code: rest.CodeGone}, true},
		"Refused":        {&rest.Problem{Status: 403, Code: rest.CodeForbidden}, false},
		"SessionEnded":   {&rest.Problem{Status: 401, Code: rest.CodeUnauthenticated}, false},
		"NotThere":       {&rest.Problem{Status: 404, Code: rest.CodeNotFound}, false},
		"Judged":         {fmt.Errorf("x: %w", exit.Fail(exit.Failed, "stalled")), false},
		"AnotherServer":  {fmt.Errorf("watch: %w", &client.PinError{Server: "https://k.example"}), false},
		"NotTrusted":     {&url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: io.EOF}}, false},
		"ClusterBusy":    {apierrors.NewTooManyRequests("later", 1), true},
		"ClusterStarts":  {apierrors.NewServiceUnavailable("later"), true},
		"ClusterRefuses": {apierrors.NewForbidden(machines, "a", nil), false},
		"ClusterHasNone": {apierrors.NewNotFound(machines, "a"), false},
	} {
		if got := Passing(tc.err); got != tc.want {
			t.Errorf("%s (%v): %t, want %t", name, tc.err, got, tc.want)
		}
	}
}

// TestFollowEnds wants the reason why the context ended.
func TestFollowEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	f := &follower{
		client: &breaking{there: there{}}, source: kinds.Source{Kind: kinds.Cluster}, lost: func(error) {},
		see: func([]change) (bool, error) {
			cancel(exit.ErrTimedOut)
			return false, nil
		},
	}
	if err := f.run(ctx); !errors.Is(err, exit.ErrTimedOut) {
		t.Errorf("got %v, want the reason why the context ended", err)
	}
}
