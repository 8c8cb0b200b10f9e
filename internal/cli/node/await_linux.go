package node

import (
	"context"
	"errors"
	"time"

	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/daemon"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/progress"
	"kqueen.io/kqueen/internal/platform/text"
	"kqueen.io/kqueen/internal/workers/join"
)

// joinLook is the time between two looks at a machine that joins.
const joinLook = 500 * time.Millisecond

// await waits until the node is ready, or only lacks what the user has to add, such as a network.
func (j *machineJoin) await(ctx context.Context, start time.Time) error {
	ctx, cancel := context.WithDeadlineCause(ctx, start.Add(j.timeout), exit.ErrTimedOut)
	defer cancel()
	p := progress.NewDisplay(j.env.Stderr, start)
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
		last := console.CleanLine(text.Cut(verdict.Message, longestWait))
		p.Update([]progress.Step{{Name: "Node", Message: last}}, time.Now())
		select {
		case <-look.C:
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), exit.ErrTimedOut) {
				return exit.Fail(exit.TimedOut, "node %s is not ready after %s: %s\nit goes on in the background; see %s, and run the same again to wait for it", j.want.Node, j.timeout, last, daemon.ServerLog(string(j.place)))
			}
			return context.Cause(ctx)
		}
	}
}

// longestWait bounds what is said of a node that is waited for, in bytes.
const longestWait = 400

// conclude says how it ended.
func (j *machineJoin) conclude(p *progress.Display, v join.Verdict, start time.Time) error {
	now := time.Now()
	if v.Ready {
		p.Update([]progress.Step{{Name: "Node", State: progress.StepDone}}, now)
		j.env.Say("node %s is ready after %s. Remove it again with: kqueen node leave", j.want.Node, progress.Seconds(now.Sub(start)))
		return nil
	}
	p.Update([]progress.Step{{Name: "Node", Message: "registered"}}, now)
	j.env.Say("node %s is registered after %s, and not ready yet: %s", j.want.Node, progress.Seconds(now.Sub(start)), console.CleanLine(v.Message))
	return nil
}
