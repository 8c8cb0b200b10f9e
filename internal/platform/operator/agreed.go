package operator

import (
	"context"
	"time"
)

// agreeEvery is the time between two looks at whether statuses agree.
const agreeEvery = 20 * time.Millisecond

// WaitAgreed waits until agree finds no status that speaks of an earlier life of KQueen, and says whether that was reached before
// ctx ended, which bounds it. Once objects were looked at, those that are made of them follow: agree compares the two.
func WaitAgreed(ctx context.Context, agree func(context.Context) (bool, error)) (bool, error) {
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
