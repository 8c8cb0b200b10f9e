package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
)

// change is one object that is new, changed or gone.
type change struct {
	object client.Object
	gone   bool
}

// follower sees every change of a source until it is told to stop, through any number of broken watches. Each watch
// says first what is there, so that nothing can happen between a list and a watch.
type follower struct {
	client client.WithWatch
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
func (f *follower) begin(ctx context.Context) (watch.Interface, error) {
	options := slices.Clone(f.source.Options)
	options = append(options, client.InNamespace(f.source.Namespace), &client.ListOptions{Raw: &metav1.ListOptions{
		SendInitialEvents: ptr.To(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, AllowWatchBookmarks: true,
	}})
	w, err := f.client.Watch(ctx, f.source.Kind.List(), options...)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", f.source.Kind.Plural, err)
	}
	return w, nil
}

// read shows what a watch says until it breaks, which is an error only before it has said all that is there.
func (f *follower) read(ctx context.Context, w watch.Interface) (done bool, err error) {
	defer w.Stop()
	there, caughtUp := map[types.UID]client.Object{}, false
	for {
		select {
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case event, open := <-w.ResultChan():
			switch {
			case caughtUp && (!open || event.Type == watch.Error):
				return false, nil
			case !open:
				return false, fmt.Errorf("watch %s: %w", f.source.Kind.Plural, io.ErrUnexpectedEOF)
			case event.Type == watch.Error:
				return false, fmt.Errorf("watch %s: %w", f.source.Kind.Plural, apierrors.FromObject(event.Object))
			case !caughtUp && event.Type == watch.Bookmark:
				caughtUp, f.told = true, false
				done, err = f.catchUp(there)
			case caughtUp:
				done, err = f.observe(event)
			default:
				err = f.gather(there, event)
			}
			if done || err != nil {
				return true, err
			}
		}
	}
}

// kept returns the object of an event, or nil when it has none that is wanted.
func (f *follower) kept(event watch.Event) (client.Object, error) {
	if event.Type != watch.Added && event.Type != watch.Modified && event.Type != watch.Deleted {
		return nil, nil
	}
	object, ok := event.Object.(client.Object)
	if !ok || (f.source.Keep != nil && !f.source.Keep(object)) {
		return nil, nil
	}
	return object, kinds.SetKind(f.client, object)
}

// gather adds what an event says to what is there.
func (f *follower) gather(there map[types.UID]client.Object, event watch.Event) error {
	object, err := f.kept(event)
	if object == nil || err != nil {
		return err
	}
	there[object.GetUID()] = object
	if event.Type == watch.Deleted {
		delete(there, object.GetUID())
	}
	return nil
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
func (f *follower) observe(event watch.Event) (bool, error) {
	object, err := f.kept(event)
	if object == nil || err != nil {
		return false, err
	}
	gone := event.Type == watch.Deleted
	f.known[object.GetUID()] = object
	if gone {
		delete(f.known, object.GetUID())
	}
	return f.see([]change{{object: object, gone: gone}})
}

// Passing says whether an error may go away by itself: the server is away, busy or starting, or the
// watch's place in history is.
func Passing(err error) bool {
	var said *exit.Error
	if errors.As(err, &said) {
		return false // a command has judged it
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == 410 || code == 429 || code >= 500
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
