package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"kqueen.io/kqueen/api/v1alpha1"
)

// errTimedOut is why a wait ends when its time is up.
var errTimedOut = errors.New("timed out")

const (
	// defaultPatience is how long commands wait unless they are told otherwise.
	defaultPatience = 5 * time.Minute
	// goalDeleted is the word for waiting until an object is gone.
	goalDeleted = "deleted"
	// redrawEvery is how often the seconds on a terminal move on.
	redrawEvery = 100 * time.Millisecond
)

// waiting is one wait for one object.
type waiting struct {
	noun *noun
	name string
	// goal is a condition that has to be true, or goalDeleted.
	goal string
	// also, when set, has to hold beside the goal. It is asked when the goal is met.
	also func(context.Context) (bool, error)
	// uid, when set, is the object that is meant: another one of the same name is as good as none.
	uid types.UID
	// timeout bounds the wait from since on.
	timeout time.Duration
	// since is when the work began that is waited for; zero when nobody knows.
	since time.Time
	// quiet leaves out what to do next with what is ready.
	quiet bool
}

// newWaitCommand returns `NOUN wait`. The goals are the conditions that are worth waiting for beside Ready;
// one of them is in the example.
func newWaitCommand(e *env, n *noun, goals ...string) *cobra.Command {
	w := waiting{noun: n}
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: fmt.Sprintf("Wait until a %s is ready, gone, or something else is true of it", n.singular),
		Long: fmt.Sprintf(`Wait until a condition of a %[1]s is true, showing the steps on the way.

The wait ends at once with exit code 1 when the %[1]s is stalled, which is
when only a change of its spec helps, and with exit code 5 when its time is up.`, n.singular),
		Example: fmt.Sprintf(`  kqueen %[1]s wait demo
  kqueen %[1]s wait demo --for %[2]s --timeout 1m
  kqueen %[1]s wait demo --for deleted`, n.singular, goals[len(goals)-1]),
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(n, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.name = args[0]
			c, err := e.connect()
			if err != nil {
				return err
			}
			return e.await(cmd.Context(), c, w)
		},
	}
	cmd.Flags().StringVar(&w.goal, "for", v1alpha1.ConditionReady, "condition that has to be true, or \"deleted\"")
	registerTimeout(cmd, &w.timeout)
	all := append([]string{v1alpha1.ConditionReady, v1alpha1.ConditionStalled, goalDeleted}, goals...)
	_ = cmd.RegisterFlagCompletionFunc("for", oneOf(all...))
	return cmd
}

// registerTimeout adds the flag --timeout.
func registerTimeout(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", defaultPatience, "how long to wait at most")
	_ = cmd.RegisterFlagCompletionFunc("timeout", noCompletion)
}

// await waits, showing the steps, and tells at the end how long it took.
func (e *env) await(parent context.Context, c client.WithWatch, w waiting) error {
	start := cmp.Or(w.since, time.Now())
	ctx, cancel := context.WithDeadlineCause(parent, start.Add(w.timeout), errTimedOut)
	defer cancel()
	looks, outages := make(chan conditioned), make(chan error)
	ended := make(chan error, 1)
	f := &follower{client: c, source: e.named(w.noun, w.name)}
	f.see = func(changes []change) (bool, error) {
		err := hand(ctx, looks, latest(changes, w.uid))
		return err != nil, err
	}
	// The context says itself why an outage could not be told.
	f.lost = func(err error) { _ = hand(ctx, outages, err) }
	go func() { ended <- f.run(ctx) }()

	shown := e.newProgress(start)
	redraw := time.NewTicker(redrawEvery)
	defer redraw.Stop()
	var last conditioned
	for first := true; ; {
		select {
		case err := <-ended:
			return w.givenUp(e, last, err)
		case err := <-outages:
			e.sayLost(err)
			shown.drawn = 0
		case now := <-redraw.C:
			shown.redraw(last, now)
		case object := <-looks:
			last = cmp.Or(object, last)
			shown.redraw(last, time.Now())
			met, err := w.met(object)
			if met && w.also != nil {
				met, err = w.also(ctx)
			}
			if err != nil {
				return err
			}
			if met {
				e.sayMet(w, last, first && w.since.IsZero(), time.Since(start))
				return nil
			}
			first = false
		}
	}
}

// hand sends a value, or returns why the context ended before somebody took it.
func hand[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// named is the source of one object of the organization's.
func (e *env) named(n *noun, name string) source {
	object := n.object()
	object.SetNamespace(e.namespace())
	object.SetName(name)
	return only(n, []client.Object{object})[0]
}

// latest returns the object that changes leave, or nil when they leave none.
func latest(changes []change, uid types.UID) conditioned {
	for _, change := range slices.Backward(changes) {
		object, ok := change.object.(conditioned)
		if ok && !change.gone && (uid == "" || object.GetUID() == uid) {
			return object
		}
	}
	return nil
}

// met says whether a wait is over with this object, which is nil when there is none. The error says that
// it never will be.
func (w waiting) met(object conditioned) (bool, error) {
	if w.goal == goalDeleted {
		return object == nil, nil
	}
	if object == nil {
		return false, fail(codeNotFound, "there is no %s %q", w.noun.singular, w.name)
	}
	if found := condition(object, w.goal); found != nil && found.Status == metav1.ConditionTrue {
		return true, nil
	}
	if object.GetDeletionTimestamp() != nil {
		return false, fail(codeError, "%s %s is being deleted", w.noun.singular, w.name)
	}
	if stalled := condition(object, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		return false, fail(codeError, "%s %s is stalled: %s", w.noun.singular, w.name, cleanLine(stalled.Message))
	}
	return false, nil
}

// givenUp returns the error for a wait that ended before its goal.
func (w waiting) givenUp(e *env, last conditioned, err error) error {
	if !errors.Is(err, errTimedOut) {
		return err
	}
	goal := "to be " + w.goal
	if w.goal != v1alpha1.ConditionReady && w.goal != goalDeleted {
		goal = "for " + w.goal
	}
	text := fmt.Sprintf("timed out after %s waiting for %s %s %s", duration.HumanDuration(w.timeout), w.noun.singular, w.name, goal)
	if last != nil {
		if message := cleanLine(readyMessage(last)); message != "" {
			text += ": " + message
		}
	}
	return fail(codeTimedOut, "%s\nsee: %s", text, e.command(w.noun.singular+" describe "+w.name))
}

// sayMet tells that a wait is over and, when somebody waited until an object is ready, what to do next.
func (e *env) sayMet(w waiting, object conditioned, atOnce bool, took time.Duration) {
	what := map[string]string{v1alpha1.ConditionReady: "is ready", goalDeleted: "is gone"}[w.goal]
	if what == "" {
		what = "has " + w.goal
	}
	after := " after " + seconds(took)
	if atOnce {
		after = ""
	}
	e.say("%s %s %s%s", w.noun.singular, w.name, what, after)
	if w.goal == v1alpha1.ConditionReady && !w.quiet {
		e.say("next: %s", e.nextFor(object))
	}
}

// newProgress returns what shows steps on standard error, with times since a moment.
func (e *env) newProgress(since time.Time) *progress {
	p := &progress{out: e.stderr, start: since, color: canColor(e.stderr)}
	if file, ok := e.stderr.(*os.File); ok && canRedraw(file) {
		p.width = func() int {
			width, _, err := term.GetSize(int(file.Fd()))
			if err != nil {
				return 80
			}
			return width
		}
	}
	return p
}

// list returns words as people list them.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
