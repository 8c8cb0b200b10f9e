package operatortest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"kqueen.io/kqueen/internal/platform/operator"
)

// outside is a world of named things, which a reconciler makes over an unreliable line.
type outside struct {
	things []string
	inj    *Injector
	made   int
}

func (o *outside) make(name string) error {
	return o.inj.Call("things.Make", func() error {
		if slices.Contains(o.things, name) {
			return fmt.Errorf("%s is there already", name)
		}
		o.things = append(o.things, name)
		return nil
	})
}

func (o *outside) has(name string) (bool, error) {
	return ReadValue(o.inj, "things.Has", func() (bool, error) { return slices.Contains(o.things, name), nil })
}

// world is a World whose reconciler has two things to make, "a" and "b".
func (o *outside) world(reconcileOnce func(context.Context) (reconcile.Result, error)) World {
	return World{
		Reconciler: func(inj *Injector) reconcile.Reconciler {
			o.inj = inj
			return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) { return reconcileOnce(ctx) })
		},
		Object: func(context.Context) (operator.Object, error) { return healthy(), nil },
		Done: func(context.Context) (bool, error) {
			return len(o.things) >= 2, nil
		},
		Snapshot: func(context.Context) (any, error) {
			slices.Sort(o.things)
			return strings.Join(o.things, " "), nil
		},
	}
}

// good looks before it makes, and names things for good.
func good(o *outside) func(context.Context) (reconcile.Result, error) {
	return func(context.Context) (reconcile.Result, error) {
		for _, name := range []string{"a", "b"} {
			there, err := o.has(name)
			if err != nil {
				return reconcile.Result{}, err
			}
			if there {
				continue
			}
			if err := o.make(name); err != nil {
				return reconcile.Result{}, err
			}
		}
		return reconcile.Result{}, nil
	}
}

// bad are reconcilers with the faults that the kit is to find.
var bad = map[string]struct {
	reconciler func(*outside) func(context.Context) (reconcile.Result, error)
	call       string
	fault      Fault
	want       string // part of the error, or of the end state
}{
	"MakesTwice": {func(o *outside) func(context.Context) (reconcile.Result, error) {
		return func(context.Context) (reconcile.Result, error) {
			for len(o.things) < 2 {
				o.made++ // a new name for every try
				if err := o.make(fmt.Sprint("thing", o.made)); err != nil {
					o.made++
					return reconcile.Result{}, err
				}
			}
			return reconcile.Result{}, nil
		}
	}, "things.Make", LostReply, "thing1 thing3"},
	"NotIdempotent": {func(o *outside) func(context.Context) (reconcile.Result, error) {
		return func(context.Context) (reconcile.Result, error) {
			if err := o.make("a"); err != nil {
				return reconcile.Result{}, err
			}
			return reconcile.Result{}, o.make("b")
		}
	}, "things.Make", CrashAfter, "not done after"},
	"SwallowsErrors": {func(o *outside) func(context.Context) (reconcile.Result, error) {
		return func(ctx context.Context) (reconcile.Result, error) {
			_, _ = good(o)(ctx)
			return reconcile.Result{}, nil
		}
	}, "things.Make", FailBefore, "nothing will trigger"},
}

func TestKitFindsFaults(t *testing.T) {
	for name, tc := range bad {
		t.Run(name, func(t *testing.T) {
			o := &outside{}
			calls, want, err := dryRun(t.Context(), o.world(tc.reconciler(o)))
			if err != nil {
				t.Fatalf("without a fault: %v", err)
			}
			at := slices.IndexFunc(calls, func(c call) bool { return c.name == tc.call })
			fresh := &outside{}
			got, err := faultRun(t.Context(), fresh.world(tc.reconciler(fresh)), newInjector(at, tc.fault), tc.call)
			if err != nil && strings.Contains(err.Error(), tc.want) {
				return
			}
			if err != nil || cmp.Equal(want, got) || got != tc.want {
				t.Errorf("want %q to be found, got end state %v instead of %v, error %v", tc.want, got, want, err)
			}
		})
	}
}

// worldsOf is how many worlds a run with a good reconciler makes.
func worldsOf(t *testing.T) int64 {
	t.Helper()
	var worlds atomic.Int64
	t.Run("Run", func(t *testing.T) {
		RunParallel(t, func(*testing.T) World {
			worlds.Add(1)
			o := &outside{}
			return o.world(good(o))
		})
	})
	return worlds.Load()
}

func TestRunPassesAGoodReconciler(t *testing.T) {
	// Has a, Make a, Has b, Make b: the dry run, an error of each of four calls, an answer of each act that is lost, and a crash
	// before either question and after the last act. A crash before or after the other acts is one of these.
	for name, c := range map[string]struct {
		faults      string
		least, most int64
	}{
		"AllFaults": {"all", 1 + 4 + 2 + 3, 1 + 4 + 2 + 3},
		"Some":      {"", 1 + 1, 1 + 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KQUEEN_FAULTS", c.faults)
			if got := worldsOf(t); got < c.least || got > c.most {
				t.Errorf("%d worlds were made, want %d to %d", got, c.least, c.most)
			}
		})
	}
}

// TestChosen: of every act one fault is tried, of three reads in a row one, and in time every fault of all that are of their own.
func TestChosen(t *testing.T) {
	for name, c := range map[string]struct {
		call call
		want map[Fault]int // how often in sixty turns
	}{
		"Write":     {call{faults: writing}, map[Fault]int{FailBefore: 12, LostReply: 12, CrashBefore: 12, CrashAfter: 12, Conflict: 12}},
		"Read":      {call{faults: reading}, map[Fault]int{FailBefore: 20}},
		"FirstRead": {call{faults: reading, first: true}, map[Fault]int{FailBefore: 10, CrashBefore: 10}},
	} {
		got := map[Fault]int{}
		for turn := range 60 {
			for n, fault := range c.call.faults {
				if c.call.chosen(n, turn) {
					got[fault]++
				}
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestEarliest(t *testing.T) {
	calls := []call{
		{name: "Get", faults: reading, first: true}, {name: "List", faults: reading}, {name: "Create", faults: acting},
		{name: "Patch", faults: writing}, {name: "Get", faults: reading}, {name: "Get", faults: reading, first: true}, {name: "Stop", faults: certain},
	}
	for name, c := range map[string]struct{ is, want strike }{
		"FirstRead":           {strike{0, CrashBefore}, strike{0, CrashBefore}},
		"ReadAfterRead":       {strike{1, CrashBefore}, strike{0, CrashBefore}},
		"WriteAfterReads":     {strike{2, CrashBefore}, strike{0, CrashBefore}},
		"AfterWrite":          {strike{2, CrashAfter}, strike{3, CrashBefore}},
		"WriteAfterWrite":     {strike{3, CrashBefore}, strike{3, CrashBefore}},
		"AfterWriteThenRead":  {strike{3, CrashAfter}, strike{4, CrashBefore}},
		"NextRunOfReconciler": {strike{5, CrashBefore}, strike{5, CrashBefore}},
		"AfterLast":           {strike{6, CrashAfter}, strike{6, CrashAfter}},
		"ErrorsAreTheirOwn":   {strike{1, FailBefore}, strike{1, FailBefore}},
		"LostReply":           {strike{2, LostReply}, strike{2, LostReply}},
	} {
		if got := c.is.earliest(calls); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

func TestCrashThrowsMemoryAway(t *testing.T) {
	o := &outside{}
	lives := 0
	w := o.world(nil)
	w.Reconciler = func(inj *Injector) reconcile.Reconciler {
		o.inj = inj
		lives++
		runs := 0
		return reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
			runs++
			if runs < 2 {
				return reconcile.Result{RequeueAfter: time.Second}, nil
			}
			// What a dying process defers has no effect either.
			defer func() { _ = o.make("c") }()
			_, err := good(o)(ctx)
			return reconcile.Result{}, err
		})
	}
	got, err := faultRun(t.Context(), w, newInjector(1, CrashBefore), "things.Make")
	if err != nil {
		t.Fatal(err)
	}
	if lives != 2 || got != "a b c" {
		t.Errorf("want two lives and one c, made by the second; got %d and %v", lives, got)
	}
}

func TestChangedOrderIsSaid(t *testing.T) {
	o := &outside{}
	_, err := faultRun(t.Context(), o.world(good(o)), newInjector(0, FailBefore), "things.Make")
	if err == nil || !strings.Contains(err.Error(), "order of calls") {
		t.Errorf("want to be told that call 0 is another one, got %v", err)
	}
}
