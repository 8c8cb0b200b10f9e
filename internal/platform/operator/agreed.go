package operator

import (
	"context"
	"time"
)

const (
	// agreeEvery is the time between two looks at whether statuses agree.
	agreeEvery = 20 * time.Millisecond
	// agreeWithin bounds the wait: what cannot be looked at keeps nothing else from being served.
	agreeWithin = 10 * time.Second
)

// WaitAgreed waits until agree finds no status that speaks of an earlier life of KQueen, a bounded time, and says whether that
// was reached. Once objects were looked at, those that are made of them follow: agree compares the two.
func WaitAgreed(ctx context.Context, agree func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	again := time.NewTicker(agreeEvery)
	defer again.Stop()
	for {
		agreed, err := agree(ctx)
		if ctx.Err() != nil {
			return false, nil
		}
		if err != nil || agreed {
			return agreed && err == nil, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return false, nil
		}
	}
}
