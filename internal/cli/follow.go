package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// source is a set of objects that can be listed and watched.
type source struct {
	noun *noun
	// namespace; empty for all, or for a noun that has none.
	namespace string
	options   []client.ListOption
	// keep leaves objects out that the API server cannot leave out; nil keeps all.
	keep func(client.Object) bool
}

// change is one object that is new, changed or gone.
type change struct {
	object client.Object
	gone   bool
}

// fetch lists a source, sorted by namespace and name, and returns the resource version of the list.
func fetch(ctx context.Context, c client.Client, s source) ([]client.Object, string, error) {
	list := s.noun.list()
	options := append([]client.ListOption{client.InNamespace(s.namespace)}, s.options...)
	if err := c.List(ctx, list, options...); err != nil {
		return nil, "", fmt.Errorf("list %s: %w", s.noun.plural, err)
	}
	var all []client.Object
	err := apimeta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("list %s: a %T is among them", s.noun.plural, item)
		}
		if s.keep != nil && !s.keep(object) {
			return nil
		}
		all = append(all, object)
		return setKind(c, object)
	})
	slices.SortStableFunc(all, func(a, b client.Object) int {
		return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
	})
	return all, list.GetResourceVersion(), err
}

// setKind writes an object's kind into it, which decoding leaves out and printing needs.
func setKind(c client.Client, object client.Object) error {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return fmt.Errorf("find the kind of %s: %w", object.GetName(), err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	return nil
}

// follower sees every change of a source until it is told to stop, through any number of broken watches.
type follower struct {
	client client.WithWatch
	source source
	// see is called with the whole source first, even when that is empty, and with changes after. It
	// returns true to stop.
	see func([]change) (bool, error)
	// lost is called when the admin plane cannot be reached any more, once until it can be again.
	lost func(error)

	known map[types.UID]client.Object
}

// retry is the pause before each new try to watch.
var retry = wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Steps: 7, Cap: 5 * time.Second}

// steadyWatch is how long a watch has to live until the next break counts as the first.
const steadyWatch = 5 * time.Second

// run follows until see is done, the context ends, or a call is refused. That the admin plane cannot be
// reached is an error at the first call only.
func (f *follower) run(ctx context.Context) error {
	err := f.loop(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (f *follower) loop(ctx context.Context) error {
	pause, told := retry, false
	for first := true; ; first = false {
		version, done, err := f.catchUp(ctx)
		if done || (err != nil && (first || !passing(err))) {
			return err
		}
		started := time.Now()
		if err == nil {
			told = false
			done, err = f.watch(ctx, version)
		}
		if done || ctx.Err() != nil || (err != nil && !passing(err)) {
			return cmp.Or(err, ctx.Err())
		}
		if err != nil && !told {
			told = true
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

// catchUp lists the source and shows what changed since the last look.
func (f *follower) catchUp(ctx context.Context) (version string, done bool, err error) {
	objects, version, err := fetch(ctx, f.client, f.source)
	if err != nil {
		return "", false, err
	}
	now := make(map[types.UID]client.Object, len(objects))
	var changes []change
	for _, object := range objects {
		now[object.GetUID()] = object
		if before := f.known[object.GetUID()]; before == nil || before.GetResourceVersion() != object.GetResourceVersion() {
			changes = append(changes, change{object: object})
		}
	}
	for uid, object := range f.known {
		if now[uid] == nil {
			changes = append(changes, change{object: object, gone: true})
		}
	}
	first := f.known == nil
	f.known = now
	if !first && len(changes) == 0 {
		return version, false, nil
	}
	done, err = f.see(changes)
	return version, done || err != nil, err
}

// watch shows changes until the watch breaks, which is no error.
func (f *follower) watch(ctx context.Context, version string) (done bool, err error) {
	options := slices.Clone(f.source.options)
	options = append(options, client.InNamespace(f.source.namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	w, err := f.client.Watch(ctx, f.source.noun.list(), options...)
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", f.source.noun.plural, err)
	}
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			return true, context.Cause(ctx)
		case event, open := <-w.ResultChan():
			if !open {
				return false, nil
			}
			if done, err := f.observe(event); done || err != nil {
				return done, err
			}
			if event.Type == watch.Error {
				return false, nil
			}
		}
	}
}

// observe shows one event of a watch.
func (f *follower) observe(event watch.Event) (bool, error) {
	if event.Type != watch.Added && event.Type != watch.Modified && event.Type != watch.Deleted {
		return false, nil
	}
	object, ok := event.Object.(client.Object)
	if !ok || (f.source.keep != nil && !f.source.keep(object)) {
		return false, nil
	}
	if err := setKind(f.client, object); err != nil {
		return true, err
	}
	gone := event.Type == watch.Deleted
	f.known[object.GetUID()] = object
	if gone {
		delete(f.known, object.GetUID())
	}
	done, err := f.see([]change{{object: object, gone: gone}})
	return done || err != nil, err
}

// passing says whether an error may go away by itself: the server is away, busy or starting, or the
// watch's place in history is.
func passing(err error) bool {
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
