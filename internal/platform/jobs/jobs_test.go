package jobs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"kqueen.io/kqueen/internal/platform/operator"
)

// thing is what jobs are for.
type thing struct{ name string }

func (t *thing) DeepCopy() *thing { return &thing{t.name} }

// TestCopy: what a job is for is as it was when it began, whatever its reconciler writes to it.
func TestCopy(t *testing.T) {
	var begun []func()
	j := New(t.Context(), func(string) {}, func(f func()) { begun = append(begun, f) }, time.Hour)
	of := &thing{"as it was"}
	ask := func() (string, *operator.Outcome) {
		return Run(j, Job{Of: "u", Name: "n"}, of, func(_ context.Context, t *thing) (string, error) { return t.name, nil })
	}
	if _, pending := ask(); pending == nil {
		t.Fatal("it has ended before it began")
	}
	of.name = "written to"
	begun[0]()
	if got, pending := ask(); got != "as it was" || pending != nil {
		t.Errorf("got %q, %v", got, pending)
	}
}

// TestJobs: a job that failed is not tried again at once, and what it failed with stays to be read while it is.
func TestJobs(t *testing.T) {
	j := New(t.Context(), func(string) {}, func(f func()) { f() }, time.Hour)
	a := Job{Of: "u", Name: "n", Running: "Running", Message: "working", Failing: func(error) string { return "Failing" }}
	calls := 0
	fail := func() *operator.Outcome {
		_, pending := Run(j, a, &thing{}, func(context.Context, *thing) (int, error) { calls++; return 0, errors.New("no disk") })
		return pending
	}
	for range 3 {
		if got := fail(); got == nil || got.String() != "retry Failing: no disk" || calls != 1 {
			t.Errorf("got %v after %d calls", got, calls)
		}
	}
}

// TestRefused: what cannot be done as it is asked for is said so, and not tried again at each look.
func TestRefused(t *testing.T) {
	j := New(t.Context(), func(string) {}, func(f func()) { f() }, 0)
	calls := 0
	for range 3 {
		_, pending := Run(j, Job{Of: "u", Name: "n", Running: "Running", Message: "working"}, &thing{}, func(context.Context, *thing) (int, error) {
			calls++
			return 0, fmt.Errorf("look: %w", Refuse("Refused", "spec.asOfTime: %d is too early", 7))
		})
		if pending == nil || pending.String() != "stalled Refused: spec.asOfTime: 7 is too early" || calls != 1 {
			t.Errorf("got %v after %d calls", pending, calls)
		}
	}
}

// TestForgotten: what a job of an object that is gone has ended with is not kept for ever.
func TestForgotten(t *testing.T) {
	j := New(t.Context(), func(string) {}, func(f func()) { f() }, 0)
	for _, of := range []string{"a", "b"} {
		_, pending := Run(j, Job{Of: of, Name: "n"}, &thing{}, func(context.Context, *thing) (int, error) { return 0, Refuse("Refused", "no") })
		if pending == nil || len(j.all) == 0 {
			t.Fatalf("%s: %v", of, pending)
		}
	}
	j.all["a n"].next = time.Now().Add(-unasked - time.Second)
	running := &state{running: true}
	j.all["c n"] = running
	j.forget(time.Now())
	if j.all["a n"] != nil || j.all["b n"] == nil || j.all["c n"] != running {
		t.Errorf("kept: %v", j.all)
	}
}

// TestPanic: a job that panics has failed.
func TestPanic(t *testing.T) {
	j := New(t.Context(), func(string) {}, func(f func()) { f() }, time.Hour)
	a := Job{Of: "u", Name: "n", Running: "Running", Failing: func(error) string { return "Failing" }}
	_, pending := Run(j, a, &thing{}, func(context.Context, *thing) (int, error) { panic("a nil map") })
	if pending == nil || pending.String() != "retry Failing: panic: a nil map; the log has more" {
		t.Errorf("got %v", pending)
	}
}

// TestAlone: what one job has for itself keeps another one waiting, and no third one that needs nothing of it.
func TestAlone(t *testing.T) {
	var begun []func()
	j := New(t.Context(), func(string) {}, func(f func()) { begun = append(begun, f) }, time.Hour)
	ask := func(of, alone string) string {
		job := Job{Of: of, Name: "copy", Organization: "acme", Alone: alone, Running: "Running", Message: "copying"}
		done, pending := Run(j, job, &thing{}, func(context.Context, *thing) (string, error) { return "copied", nil })
		if pending != nil {
			return pending.String()
		}
		return done
	}
	for _, step := range []struct{ of, alone, want string }{
		{"a", "folder", "wait Running: copying"},
		{"b", "folder", "wait Running: copying: waiting for its turn"},
		{"c", "", "wait Running: copying"},
		{"d", "", "wait Running: copying: waiting for its turn"}, // an organization has two places
	} {
		if got := ask(step.of, step.alone); got != step.want {
			t.Errorf("%s: got %q, want %q", step.of, got, step.want)
		}
	}
	for _, f := range begun {
		f()
	}
	if got := ask("a", "folder"); got != "copied" {
		t.Errorf("got %q", got)
	}
	if got := ask("b", "folder"); got != "wait Running: copying" {
		t.Errorf("got %q", got)
	}
}
