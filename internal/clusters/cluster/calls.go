package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"kqueen.io/kqueen/internal/clusters/provision"
)

const (
	// callDeadline bounds one call of a driver, none of which blocks for longer than one call to the outside.
	callDeadline = 20 * time.Second
	// admissionDeadline is the same at admission, where the API server waits for ten seconds and a user all the time.
	admissionDeadline = 5 * time.Second
)

var (
	// errLate and errBusy have the same words from try to try.
	errLate = fmt.Errorf("%w: it did not answer in time", provision.ErrUnreachable)
	errBusy = fmt.Errorf("%w: an earlier call still waits for its answer", provision.ErrUnreachable)
)

// calls bounds the calls of drivers, so that an outside that does not answer costs its own clusters alone. A
// Provisioner of which a call was late gets one call at a time until one comes through in time; all others are
// answered at once. Without that its clusters would hold every worker of the reconciler most of the time.
// Where each cluster is another outside, each has a lane of its own, and those that are late share one more, the crowd.
// The zero value is ready, and makes no call late before callDeadline.
type calls struct {
	deadline time.Duration

	mu    sync.Mutex
	lanes map[types.UID]lane
}

// lane is how it goes with one outside.
type lane struct {
	late bool
	busy int // calls that are being made; of a crowd those of late lanes
}

// enter says whether a call may be made now. leave has to be called after it.
func (c *calls) enter(own, crowd types.UID) (leave func(late bool), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lanes[own]
	crowded := l.late && crowd != ""
	if l.late && l.busy > 0 || crowded && c.lanes[crowd].busy > 0 {
		return nil, false
	}
	if c.lanes == nil {
		c.lanes = map[types.UID]lane{}
	}
	c.add(own, 1)
	if crowded {
		c.add(crowd, 1)
	}
	return func(late bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		l := c.lanes[own]
		l.late = late
		c.lanes[own] = l
		c.add(own, -1)
		if crowded {
			c.add(crowd, -1)
		}
	}, true
}

// add counts the calls of a lane, and forgets one of which there is nothing to say.
func (c *calls) add(uid types.UID, n int) {
	l := c.lanes[uid]
	l.busy += n
	c.lanes[uid] = l
	if l == (lane{}) {
		delete(c.lanes, uid)
	}
}

// ask makes one call of a target's driver. One that is late, or is not made because an earlier one is, is
// provision.ErrUnreachable. A failure that took a quarter of the time counts as late for the next call.
func ask[T any](ctx context.Context, t target, call func(context.Context) (T, error)) (T, error) {
	var none T
	leave, ok := t.calls.enter(t.lane, t.crowd)
	if !ok {
		return none, errBusy
	}
	slow := false
	defer func() { leave(slow) }()
	deadline := t.calls.deadline
	if deadline == 0 {
		deadline = callDeadline
	}
	bounded, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	began := time.Now()
	got, err := call(bounded)
	failed := err != nil && ctx.Err() == nil
	slow = failed && (errors.Is(bounded.Err(), context.DeadlineExceeded) || time.Since(began) > deadline/4)
	if failed && errors.Is(bounded.Err(), context.DeadlineExceeded) {
		return none, errLate
	}
	return got, err
}

func (t target) ensure(ctx context.Context) error {
	_, err := ask(ctx, t, func(ctx context.Context) (struct{}, error) { return struct{}{}, t.Ensure(ctx, t.want) })
	return err
}

func (t target) observe(ctx context.Context) (provision.Observed, error) {
	return ask(ctx, t, func(ctx context.Context) (provision.Observed, error) { return t.Observe(ctx, t.want.Target) })
}

func (t target) remove(ctx context.Context) (gone bool, err error) {
	return ask(ctx, t, func(ctx context.Context) (bool, error) { return t.Delete(ctx, t.want.Target) })
}
