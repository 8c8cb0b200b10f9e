package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/clusters/provision"
)

func targetOf(c *calls, provisioner types.UID) target {
	return target{calls: c, lane: provisioner}
}

// TestLateCallsTakeOneWorker: a provisioner that does not answer holds one worker at a time, and others none.
func TestLateCallsTakeOneWorker(t *testing.T) {
	c := &calls{deadline: 10 * time.Millisecond}
	hang := func(ctx context.Context) (bool, error) { <-ctx.Done(); return true, ctx.Err() }
	if got, err := ask(t.Context(), targetOf(c, "slow"), hang); got || !errors.Is(err, provision.ErrUnreachable) {
		t.Fatalf("a call that hangs gives %v, %v; want nothing and ErrUnreachable", got, err)
	}
	began, end := make(chan struct{}), make(chan struct{})
	answered := make(chan error)
	go func() {
		_, err := ask(t.Context(), targetOf(c, "slow"), func(context.Context) (bool, error) { close(began); <-end; return true, nil })
		answered <- err
	}()
	<-began
	if _, err := ask(t.Context(), targetOf(c, "slow"), hang); !errors.Is(err, errBusy) {
		t.Errorf("a second call of a provisioner that was late: want it refused at once, got %v", err)
	}
	quick := func(context.Context) (bool, error) { return true, nil }
	if got, err := ask(t.Context(), targetOf(c, "other"), quick); !got || err != nil {
		t.Errorf("another provisioner is kept waiting: %v, %v", got, err)
	}
	close(end)
	if err := <-answered; err != nil {
		t.Error(err)
	}
	if len(c.lanes) != 0 {
		t.Errorf("what is remembered after an answer in time: %v", c.lanes)
	}
}

// TestCallerWhoLeaves: that a caller does not wait any longer says nothing of the provisioner.
func TestCallerWhoLeaves(t *testing.T) {
	c := &calls{deadline: time.Minute}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := ask(ctx, targetOf(c, "p"), func(ctx context.Context) (bool, error) { cancel(); <-ctx.Done(); return false, ctx.Err() })
	if !errors.Is(err, context.Canceled) || len(c.lanes) != 0 {
		t.Errorf("got %v, and remembered is %v", err, c.lanes)
	}
}

func TestRefusal(t *testing.T) {
	for want, err := range map[string]error{
		"retry ProvisionerFailed: boom": errors.New("boom"),
		"unknown ProvisionerUnreachable: the provisioner cannot be reached: it did not answer in time": errLate,
		"retry InsufficientCapacity: there is no capacity: quota of 3 clusters":                        fmt.Errorf("%w: quota of 3 clusters", provision.ErrCapacity),
		"retry CredentialsMissing: spec.provisionerRef: no token":                                      missing(v1alpha1.ReasonCredentialsMissing, "no token"),
	} {
		if got := refusal(err, v1alpha1.ReasonProvisionerFailed); got.String() != want {
			t.Errorf("want %s\ngot  %s", want, got)
		}
	}
}

// TestCrowd: clusters that are another outside each wait for none but those that were late, of which one is asked at a time.
func TestCrowd(t *testing.T) {
	c := &calls{deadline: 10 * time.Millisecond}
	of := func(cluster types.UID) target { return target{calls: c, lane: cluster, crowd: "imported"} }
	hang := func(ctx context.Context) (bool, error) { <-ctx.Done(); return true, ctx.Err() }
	quick := func(context.Context) (bool, error) { return true, nil }
	for _, cluster := range []types.UID{"a", "b"} {
		if _, err := ask(t.Context(), of(cluster), hang); !errors.Is(err, errLate) {
			t.Fatalf("the first call of %s: got %v", cluster, err)
		}
	}
	within := func(context.Context) (bool, error) {
		if _, err := ask(t.Context(), of("b"), quick); !errors.Is(err, errBusy) {
			t.Errorf("two that were late are asked at once: got %v", err)
		}
		if got, err := ask(t.Context(), of("c"), quick); !got || err != nil {
			t.Errorf("one that was never late is kept waiting: %v, %v", got, err)
		}
		return true, nil
	}
	if _, err := ask(t.Context(), of("a"), within); err != nil {
		t.Error(err)
	}
	if _, err := ask(t.Context(), of("b"), quick); err != nil {
		t.Errorf("after the other one: %v", err)
	}
	if len(c.lanes) != 0 {
		t.Errorf("what is remembered after answers in time: %v", c.lanes)
	}
}
