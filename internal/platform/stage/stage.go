// Package stage tells what a long act does, step by step: when each begins, when it has ended, and how long it took.
// Commands print the steps; a server in the background sends them to the command that started it. It imports nothing
// of ours, and every package may import it.
package stage

import (
	"context"
	"time"
)

// Step is one step of a long act.
type Step struct {
	Name string `json:"name"`
	// Done says that the step has ended well.
	Done bool `json:"done"`
	// Elapsed is the time that the step took.
	Elapsed time.Duration `json:"elapsed,omitempty"`
}

// Run runs a step and reports its begin and, unless it failed, its end.
func Run(ctx context.Context, report func(Step), name string, run func(context.Context) error) error {
	begin := time.Now()
	report(Step{Name: name})
	if err := run(ctx); err != nil {
		return err
	}
	report(Step{Name: name, Done: true, Elapsed: time.Since(begin)})
	return nil
}
