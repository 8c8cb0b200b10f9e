package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/duration"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/kinds"
	"kqueen.io/kqueen/internal/cli/objects"
	"kqueen.io/kqueen/internal/cli/progress"
)

// sayLost tells that a watch cannot be resumed for now.
func sayLost(e *connection.Env, err error) { e.Say("lost the connection to KQueen, retrying: %v", err) }

// redrawEvery is how often the seconds on a terminal move on.
const redrawEvery = 100 * time.Millisecond

// Waiting is one wait for one object.
type Waiting struct {
	Kind *kinds.Kind
	Name string
	// Goal is a condition, goalDeleted, goalCreated or goalPath.
	Goal string
	// Status that the condition has to have; empty for True.
	Status metav1.ConditionStatus
	// Also, when set, has to hold beside the goal. It is asked when the goal is met.
	Also func(context.Context) (bool, error)
	// Uid, when set, is the object that is meant: another one of the same name is as good as none.
	Uid types.UID
	// Timeout bounds the wait from since on.
	Timeout time.Duration
	// Since is when the work began that is waited for; zero when that is not known.
	Since time.Time
	// shared says that the object is one that all organizations share.
	shared bool
	// Quiet leaves out what to do next with what is ready.
	Quiet bool
	// Named says first what is waited for: it is one of several, whose steps have the same names.
	Named bool
	// Work is what goes on when the user stops waiting; empty for creation, or deletion by the goal.
	Work string
	// field is what goalPath is about.
	field *field
}

// WaitCommand returns `KIND wait`. The goals are the conditions of the kind beside those of every kind; one of them is in
// the example.
func WaitCommand(e *connection.Env, n *kinds.Kind, goals ...string) *cobra.Command {
	w := Waiting{Kind: n}
	known := append([]string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled}, goals...)
	article := kinds.Article(n.Singular)
	var goal string
	cmd := &cobra.Command{
		Use:   "wait NAME",
		Short: fmt.Sprintf("Wait for a condition of %s", article),
		Long: fmt.Sprintf(`Wait until %[1]s is ready, or for what --for says, and show the steps:

  condition=NAME[=STATUS]  a condition has that status (default True)
  delete                   it does not exist any more
  create                   it exists
  jsonpath=PATH[=VALUE]    a field has that value, or any

The conditions are %[2]s.

The wait for a condition ends at once with exit code 1 when that is stalled: only a
change of the spec helps then. Exit code 5 is a timeout.`, article, console.List(known)),
		Example: fmt.Sprintf(`  kqueen %[1]s wait demo
  kqueen %[1]s wait demo --for=condition=%[2]s --timeout 1m
  kqueen %[1]s wait demo --for=delete
  kqueen %[1]s wait demo --for=jsonpath='{.metadata.labels.stage}'=test`, n.Singular, goals[len(goals)-1]),
		Args:              command.Names(1, 1),
		ValidArgsFunction: kinds.CompleteNames(e, n, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			w.Name = args[0]
			if err := w.aim(goal, known); err != nil {
				return exit.UsageError(cmd, "--for: %w", err)
			}
			c, err := e.Connect()
			if err != nil {
				return err
			}
			if n.Scope() == rest.ScopeShared {
				// One that all organizations share is none of the organization's own, which are looked for first.
				if object, err := kinds.Find(cmd.Context(), e, c, n, w.Name); err == nil {
					w.shared = kinds.Shared(object)
				}
			}
			return Await(cmd.Context(), e, c, w)
		},
	}
	cmd.Flags().StringVar(&goal, "for", "condition="+v1alpha1.ConditionReady, "what to wait for: condition=NAME[=STATUS], delete, create or jsonpath=PATH[=VALUE]")
	command.RegisterTimeout(cmd, &w.Timeout)
	all := []string{goalDeleted, goalCreated}
	for _, name := range known {
		all = append(all, "condition="+name)
	}
	_ = cmd.RegisterFlagCompletionFunc("for", command.OneOf(all...))
	return cmd
}

// Await waits, showing the steps, and tells at the end how long it took.
func Await(parent context.Context, e *connection.Env, c *objects.Client, w Waiting) error {
	start := cmp.Or(w.Since, time.Now())
	ctx, cancel := context.WithDeadlineCause(parent, start.Add(w.Timeout), exit.ErrTimedOut)
	defer cancel()
	looks, outages := make(chan kinds.Conditioned), make(chan error)
	ended := make(chan error, 1)
	f := &follower{client: c, source: w.source(e), begun: !w.Since.IsZero()}
	f.see = func(changes []change) (bool, error) {
		err := hand(ctx, looks, latest(changes, w.Uid))
		return err != nil, err
	}
	// The context says itself why an outage could not be told.
	f.lost = func(err error) { _ = hand(ctx, outages, err) }
	go func() { ended <- f.run(ctx) }()

	if w.Named {
		e.Say("waiting for %s %s %s", w.Kind.Singular, w.Name, w.wanted())
	}
	shown := progress.NewDisplay(e.Stderr, start)
	redraw := time.NewTicker(redrawEvery)
	defer redraw.Stop()
	var last kinds.Conditioned
	for first := true; ; {
		select {
		case err := <-ended:
			w.sayGoesOn(parent, e)
			return w.givenUp(e, last, err)
		case err := <-outages:
			sayLost(e, err)
			shown.Leave()
		case now := <-redraw.C:
			shown.Redraw(last, now)
		case object := <-looks:
			last = cmp.Or(object, last)
			shown.Redraw(last, time.Now())
			met, err := w.met(object)
			if met && w.Also != nil {
				met, err = w.also(ctx, e)
			}
			if err != nil {
				return w.givenUp(e, last, err)
			}
			if met {
				sayMet(e, w, last, first && w.Since.IsZero(), time.Since(start))
				return nil
			}
			first = false
		}
	}
}

// also asks for what has to hold beside the goal, until the server answers.
func (w *Waiting) also(ctx context.Context, e *connection.Env) (bool, error) {
	pause := retry
	for told := false; ; told = true {
		met, err := w.Also(ctx)
		if err == nil || !Passing(err) {
			return met, err
		}
		if !told && ctx.Err() == nil {
			sayLost(e, err)
		}
		if err := sleep(ctx, pause.Step()); err != nil {
			return false, err
		}
	}
}

// hand sends a value, or returns why the context ended before it was taken.
func hand[T any](ctx context.Context, to chan<- T, value T) error {
	select {
	case to <- value:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// source is that of the one object.
func (w *Waiting) source(e *connection.Env) kinds.Source {
	s := kinds.In(e, w.Kind)
	s.Name, s.Shared = w.Name, w.shared
	return s
}

// latest returns the object that changes leave, or nil when they leave none.
func latest(changes []change, uid types.UID) kinds.Conditioned {
	for _, change := range slices.Backward(changes) {
		object, ok := change.object.(kinds.Conditioned)
		if ok && !change.gone && (uid == "" || object.GetUID() == uid) {
			return object
		}
	}
	return nil
}

// met says whether a wait has ended with this object, which is nil when there is none. The error says that
// it never will be.
func (w *Waiting) met(object kinds.Conditioned) (bool, error) {
	switch {
	case w.Goal == goalDeleted:
		return object == nil, nil
	case w.Goal == goalCreated:
		return object != nil, nil
	case object == nil:
		return false, exit.Fail(exit.NotFound, "there is no %s %q", w.Kind.Singular, w.Name)
	case w.Goal == goalPath:
		if w.field.is(object) {
			return true, nil
		}
	default:
		if found := kinds.Condition(object, w.Goal); found != nil && found.Status == w.status() {
			return true, nil
		}
	}
	if object.GetDeletionTimestamp() != nil {
		return false, exit.Fail(exit.Failed, "%s %s is being deleted", w.Kind.Singular, w.Name)
	}
	if w.Goal == goalPath || w.status() != metav1.ConditionTrue {
		return false, nil // what is stalled may still come to be so
	}
	if stalled := kinds.Condition(object, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		return false, exit.Fail(exit.Failed, "%s %s is stalled: %s", w.Kind.Singular, w.Name, console.CleanLine(stalled.Message))
	}
	return false, nil
}

// sayGoesOn tells a user who stops waiting that what the command began goes on, and how to watch it.
func (w *Waiting) sayGoesOn(parent context.Context, e *connection.Env) {
	if parent.Err() == nil || w.Since.IsZero() {
		return
	}
	work, goal := cmp.Or(w.Work, "creation"), ""
	if w.Goal == goalDeleted {
		work, goal = "deletion", " --for=delete"
	}
	e.Say("the %s of %s %s goes on; watch it with: %s", work, w.Kind.Singular, w.Name, e.Command(w.Kind.Singular+" wait "+w.Name+goal))
}

// givenUp returns the error for a wait that ended before its goal.
func (w *Waiting) givenUp(e *connection.Env, last kinds.Conditioned, err error) error {
	if !errors.Is(err, exit.ErrTimedOut) {
		return err
	}
	text := fmt.Sprintf("timed out after %s waiting for %s %s %s", duration.HumanDuration(w.Timeout), w.Kind.Singular, w.Name, w.wanted())
	if last != nil {
		message := kinds.ReadyMessage(last)
		if c := kinds.Condition(last, w.Goal); c != nil {
			message = c.Message
		}
		if message = console.CleanLine(message); message != "" {
			text += ": " + message
		}
	}
	return exit.Fail(exit.TimedOut, "%s\nsee: %s", text, e.Command(w.Kind.Singular+" describe "+w.Name))
}

// sayMet tells that a wait has ended and, when the user waited until an object is ready, what to do next.
func sayMet(e *connection.Env, w Waiting, object kinds.Conditioned, atOnce bool, took time.Duration) {
	after := " after " + progress.Seconds(took)
	if atOnce {
		after = ""
	}
	e.Say("%s %s %s%s", w.Kind.Singular, w.Name, w.reached(), after)
	if w.Goal == v1alpha1.ConditionReady && w.status() == metav1.ConditionTrue && !w.Quiet {
		e.Say("next: %s", nextFor(e, object))
	}
}
