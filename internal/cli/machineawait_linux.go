package cli

import (
	"context"
	"errors"
	"time"

	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/join"
)

// joinLook is the time between two looks at a machine that joins.
const joinLook = 500 * time.Millisecond

// await waits until the node is ready, or waits for what nobody here brings.
func (j *machineJoin) await(ctx context.Context, start time.Time) error {
	ctx, cancel := context.WithDeadlineCause(ctx, start.Add(j.timeout), errTimedOut)
	defer cancel()
	p := j.env.newProgress(start)
	look := time.NewTicker(joinLook)
	defer look.Stop()
	for {
		verdict, err := j.place.Progress(ctx)
		if err != nil {
			return err
		}
		if verdict.Done {
			return j.conclude(p, verdict, start)
		}
		last := cleanLine(text.Cut(verdict.Message, longestWait))
		p.update([]step{{name: "Node", message: last}}, time.Now())
		select {
		case <-look.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), errTimedOut) {
				return fail(codeTimedOut, "node %s is not ready after %s: %s\nit goes on in the background; see %s, and run the same again to wait for it", j.want.Node, j.timeout, last, serverLog(string(j.place)))
			}
			return context.Cause(ctx)
		}
	}
}

// longestWait bounds what is said of a node that is waited for, in bytes.
const longestWait = 400

// conclude says how it ended.
func (j *machineJoin) conclude(p *progress, v join.Verdict, start time.Time) error {
	now := time.Now()
	if v.Ready {
		p.update([]step{{name: "Node", state: stepDone}}, now)
		j.env.say("node %s is ready after %s. Take it out again with: kqueen node leave", j.want.Node, seconds(now.Sub(start)))
		return nil
	}
	p.update([]step{{name: "Node", message: "registered"}}, now)
	j.env.say("node %s is registered after %s, and not ready yet: %s", j.want.Node, seconds(now.Sub(start)), cleanLine(v.Message))
	return nil
}
