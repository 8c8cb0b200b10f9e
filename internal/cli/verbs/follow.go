package verbs

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/rest"
	kqueen "kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
)

// change is one object that is new, changed or gone.
type change struct {
	object client.Object
	gone   bool
}

// watcher is what a follower needs of a client of objects.
type watcher interface {
	Watch(context.Context, objects.Set) (objects.Watch, error)
}

// follower sees every change of a source until it is told to stop, through any number of broken watches. Each watch
// says first what is there, so that nothing can happen between a list and a watch.
type follower struct {
	client watcher
	source kinds.Source
	// see is called with the whole source first, even when that is empty, and with changes after. It
	// returns true to stop.
	see func([]change) (bool, error)
	// lost is called when the server cannot be reached any more, once until it can be again.
	lost func(error)
	// begun says that what is followed has begun already: that the server cannot be reached is no error at the first
	// call either.
	begun bool

	known map[types.UID]client.Object
	told  bool // lost was called
}

// retry is the pause before each new try to watch.
var retry = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 7, Cap: 5 * time.Second}

// steadyWatch is how long a watch has to live until the next break counts as the first.
const steadyWatch = 5 * time.Second

// run follows until see is done, the context ends, or a call is refused. That the server cannot be reached is an error at
// the first call only.
func (f *follower) run(ctx context.Context) error {
	err := f.loop(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (f *follower) loop(ctx context.Context) error {
	pause := retry
	for first := true; ; first = false {
		started := time.Now()
		w, err := f.begin(ctx)
		if err != nil && first && !f.begun {
			return err
		}
		done := false
		if err == nil {
			done, err = f.read(ctx, w)
		}
		if done || ctx.Err() != nil || (err != nil && !Passing(err)) {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil && !f.told {
			f.told = true
			f.lost(err)
		}
		if time.Since(started) > steadyWatch {
			pause = retry
		}
		if err := sleep(ctx, pause.Step()); err != nil {
			return err
		}
	}
}

// begin opens a watch that says first what is there, and ends that with a bookmark.
func (f *follower) begin(ctx context.Context) (objects.Watch, error) {
	w, err := f.client.Watch(ctx, f.source.Set)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", f.source.Kind.Plural, err)
	}
	return w, nil
}

// read shows what a watch says until it breaks, which is an error only before it has said all that is there.
func (f *follower) read(ctx context.Context, w objects.Watch) (done bool, err error) {
	defer w.Close()
	there, caughtUp := map[types.UID]client.Object{}, false
	for {
		event, err := w.Next()
		switch {
		case ctx.Err() != nil:
			return true, context.Cause(ctx)
		case err != nil && caughtUp:
			return false, nil
		case err != nil:
			return false, fmt.Errorf("watch %s: %w", f.source.Kind.Plural, err)
		case event.Type == rest.EventBookmark:
			if caughtUp {
				continue
			}
			caughtUp, f.told = true, false
			done, err = f.catchUp(there)
		case f.source.Keep != nil && !f.source.Keep(event.Object):
		case caughtUp:
			done, err = f.observe(event)
		default:
			gather(there, event)
		}
		if done || err != nil {
			return true, err
		}
	}
}

// gather adds what an event says to what is there.
func gather(there map[types.UID]client.Object, event objects.Event) {
	there[event.Object.GetUID()] = event.Object
	if event.Type == rest.EventDeleted {
		delete(there, event.Object.GetUID())
	}
}

// catchUp shows what changed since the last watch.
func (f *follower) catchUp(there map[types.UID]client.Object) (bool, error) {
	var changes []change
	for uid, object := range f.known {
		if there[uid] == nil {
			changes = append(changes, change{object: object, gone: true})
		}
	}
	for uid, object := range there {
		if before := f.known[uid]; before == nil || before.GetResourceVersion() != object.GetResourceVersion() {
			changes = append(changes, change{object: object})
		}
	}
	// One that has taken the name of another comes after it.
	slices.SortStableFunc(changes, func(a, b change) int { return kinds.ByName(a.object, b.object) })
	first := f.known == nil
	f.known = there
	if !first && len(changes) == 0 {
		return false, nil
	}
	return f.see(changes)
}

// observe shows one event of a watch that has said what was there.
func (f *follower) observe(event objects.Event) (bool, error) {
	gather(f.known, event)
	return f.see([]change{{object: event.Object, gone: event.Type == rest.EventDeleted}})
}

// Passing says whether an error may go away by itself: the server is away, busy or starting, or the
// watch's place in history is. A server that is not the right one stays so.
func Passing(err error) bool {
	_, judged := errors.AsType[*exit.Error](err) // by a command
	_, another := errors.AsType[*kqueen.PinError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	if judged || another || untrusted {
		return false
	}
	code := exit.ProblemStatus(err)
	var status apierrors.APIStatus // of a managed cluster
	if errors.As(err, &status) {
		code = int(status.Status().Code)
	}
	return code == 0 || code == http.StatusGone || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

// sleep waits, or returns why the context ended.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
