package operatortest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/internal/platform/operator"
)

// mostRuns is how often a reconciler is run before it counts as never done. Those of KQueen need
// less than twenty.
const mostRuns = 60

// mostStrikes is how many faults one Run tries. With twelve the tests of a dozen reconcilers took a quarter of an hour.
const mostStrikes = 8

// World is one object with all that its reconciler touches. Every run gets a World of its own, so
// the names in it must be its own too.
type World struct {
	// Reconciler makes the reconciler with all that it keeps in memory. It is called again after a
	// crash. Its calls must go through the Injector, always in the same order.
	Reconciler func(*Injector) reconcile.Reconciler
	Request    reconcile.Request
	// Object returns the object as it is, or an error of kind NotFound.
	Object func(context.Context) (operator.Object, error)
	// Step moves the outside by one step between two runs, such as a program that becomes ready, and
	// says whether something moved that the reconciler watches. Nil when nothing moves by itself.
	Step func(context.Context) (notified bool, err error)
	// Done says whether the object is where it shall be.
	Done func(context.Context) (bool, error)
	// Then is what a user does right after the fault, or after Done when there was none: such as
	// deleting the object half-made. Nil for nothing.
	Then *Act
	// Snapshot is the end state, without what differs from World to World, such as names and times.
	Snapshot func(context.Context) (any, error)
}

// Act is something that a user does while the reconciler is at work.
type Act struct {
	Do func(context.Context) error
	// Done takes the place of the World's from then on.
	Done func(context.Context) (bool, error)
}

// Run runs the reconciler of one World without a fault, and then Worlds in each of which one call goes wrong in one way: up to eight of
// one fault of every call with effects and of one in three reads, others from run to run. With KQUEEN_FAULTS=all in the environment it tries
// every fault of every call. What is the same as another one is not tried twice. All must reach the first one's end state. Each is a subtest
// whose name says the call and the fault, so that it can be run alone.
func Run(t *testing.T, world func(*testing.T) World) {
	t.Helper()
	run(t, world, false)
}

// RunParallel is Run for Worlds that share nothing: they run side by side, after RunParallel has returned.
func RunParallel(t *testing.T, world func(*testing.T) World) {
	t.Helper()
	run(t, world, true)
}

func run(t *testing.T, world func(*testing.T) World, parallel bool) {
	t.Helper()
	calls, want, err := dryRun(t.Context(), world(t))
	if err != nil {
		t.Fatalf("without a fault: %v", err)
	}
	if len(calls) == 0 {
		t.Fatal("the reconciler made no call through the injector: nothing can be broken")
	}
	every := os.Getenv("KQUEEN_FAULTS") == "all"
	strikes := strikesOf(calls, every, rand.IntN(1<<10))
	if all := len(strikes); !every && all > mostStrikes {
		rand.Shuffle(all, func(i, j int) { strikes[i], strikes[j] = strikes[j], strikes[i] })
		strikes = strikes[:mostStrikes]
		t.Logf("%d of %d faults are tried; KQUEEN_FAULTS=all tries every one", mostStrikes, all)
	}
	for _, s := range strikes {
		name := calls[s.at].name
		t.Run(fmt.Sprintf("call_%d_%s_%s", s.at, name, s.fault), func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			got, err := faultRun(t.Context(), world(t), newInjector(s.at, s.fault), name)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the end state is not that of a run without a fault (-want +got):\n%s", diff)
			}
		})
	}
}

// dryRun returns the calls of a run without a fault, up to Then, and its end state.
func dryRun(ctx context.Context, w World) ([]call, any, error) {
	d := &drive{World: w, inj: newInjector(-1, "")}
	d.start()
	if err := d.until(ctx, w.Done); err != nil {
		return nil, nil, err
	}
	calls := d.inj.calls
	if err := d.quiet(ctx); err != nil {
		return nil, nil, err
	}
	if err := d.then(ctx); err != nil {
		return nil, nil, err
	}
	end, err := w.Snapshot(ctx)
	return calls, end, err
}

// faultRun returns the end state of a run in which inj breaks a call, which must have the name that
// it had without the fault.
func faultRun(ctx context.Context, w World, inj *Injector, name string) (any, error) {
	d := &drive{World: w, inj: inj}
	d.start()
	d.stop = func() bool { return w.Then != nil && inj.hasFired() }
	if err := d.until(ctx, w.Done); err != nil {
		return nil, err
	}
	d.stop = nil
	if !inj.hasFired() || inj.called(inj.at) != name {
		return nil, fmt.Errorf("call %d was %s and is now %s: the order of calls is not the same from run to run", inj.at, name, inj.called(inj.at))
	}
	if err := d.then(ctx); err != nil {
		return nil, err
	}
	return w.Snapshot(ctx)
}

// drive runs one World.
type drive struct {
	World
	inj        *Injector
	reconciler reconcile.Reconciler
	fresh      bool        // the process has just started and has not looked at the object yet
	stop       func() bool // ends until early; nil for never
}

func (d *drive) start() {
	d.inj.revive()
	d.reconciler, d.fresh = d.Reconciler(d.inj), true
}

func (d *drive) then(ctx context.Context) error {
	if d.Then == nil {
		return nil
	}
	if err := d.Then.Do(ctx); err != nil {
		return fmt.Errorf("act: %w", err)
	}
	return d.until(ctx, d.Then.Done)
}

// until runs the reconciler until done. It does not wait for the times that the reconciler asks for,
// but a reconciler that is not done, asks for no other run, and that nothing would trigger, is stuck.
func (d *drive) until(ctx context.Context, done func(context.Context) (bool, error)) error {
	asleep := false
	for range mostRuns {
		if d.stop != nil && d.stop() {
			return nil
		}
		over, err := done(ctx)
		if err != nil {
			return fmt.Errorf("ask whether it is done: %w", err)
		}
		if over && !d.fresh {
			return nil
		}
		if asleep {
			return fmt.Errorf("not done, and nothing will trigger the reconciler again: %s", d.describe(ctx))
		}
		before := d.inj.count()
		again, err := d.once(ctx)
		if err != nil {
			return err
		}
		notified := false
		if d.Step != nil {
			if notified, err = d.Step(ctx); err != nil {
				return fmt.Errorf("move the outside: %w", err)
			}
		}
		asleep = !again && !notified && d.inj.count() == before
	}
	return fmt.Errorf("not done after %d runs: %s", mostRuns, d.describe(ctx))
}

// once runs the reconciler and says whether it will run again by itself. A crash makes a new one.
func (d *drive) once(ctx context.Context) (bool, error) {
	d.fresh = false
	r := d.reconcile(ctx)
	if r.crashed {
		d.start() // a new process looks at every object
	}
	if r.crashed || r.failed { // the controller runs it again after an error
		return true, nil
	}
	obj, err := d.Object(ctx)
	if apierrors.IsNotFound(err) {
		return r.again, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the object: %w", err)
	}
	if problems := Lint(obj); len(problems) > 0 {
		return false, fmt.Errorf("the status is not as it must be: %w", errors.Join(problems...))
	}
	return r.again, nil
}

// ended is how a run ended.
type ended struct {
	again   bool // the reconciler asked for another run
	failed  bool // it returned an error
	crashed bool
}

func (d *drive) reconcile(ctx context.Context) (e ended) {
	defer func() {
		r := recover()
		if _, ours := r.(crash); ours {
			e = ended{crashed: true}
			return
		}
		if r != nil {
			panic(r)
		}
	}()
	d.inj.begins()
	result, err := d.reconciler.Reconcile(ctx, d.Request)
	return ended{again: result.RequeueAfter > 0, failed: err != nil}
}

// quiet fails when a reconciler that has nothing to do writes nevertheless.
func (d *drive) quiet(ctx context.Context) error {
	before, from := d.inj.count(), len(d.inj.calls)
	if _, err := d.once(ctx); err != nil {
		return err
	}
	if d.inj.count() == before {
		return nil
	}
	var names []string
	for _, c := range d.inj.calls[from:] {
		names = append(names, c.name)
	}
	return fmt.Errorf("nothing was left to do, but the reconciler wrote: %v", names)
}

// describe says for a failing test how the object is.
func (d *drive) describe(ctx context.Context) string {
	obj, err := d.Object(ctx)
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	fmt.Fprintf(&text, "finalizers %v", obj.GetFinalizers())
	for _, c := range obj.Shared().Conditions {
		fmt.Fprintf(&text, "\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text.String()
}

// Converge runs the World's reconciler without a fault until it is done.
func Converge(t *testing.T, w World) {
	t.Helper()
	d := &drive{World: w, inj: newInjector(-1, "")}
	d.start()
	if err := d.until(t.Context(), w.Done); err != nil {
		t.Fatalf("without a fault: %v", err)
	}
}

// After returns the World in which w was done without a fault and a user then acts, such as by deleting
// or upgrading the object. Faults strike from there on.
func After(t *testing.T, w World, act Act) World {
	t.Helper()
	Converge(t, w)
	if err := act.Do(t.Context()); err != nil {
		t.Fatalf("act: %v", err)
	}
	w.Done, w.Then = act.Done, nil
	return w
}
