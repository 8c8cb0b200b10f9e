package supervise

import (
	"context"
	"fmt"

	"kqueen.io/kqueen/internal/platform/health"
)

// Statuses are what [Await] asks. *Supervisor offers it.
type Statuses interface {
	Status(ctx context.Context, id string) (Status, error)
}

// Await waits until all components of a workload are ready, and gives up when one will not come up without help. changed
// gets a word when the workload has changed.
func Await(ctx context.Context, of Statuses, id string, changed <-chan struct{}) error {
	for {
		processes, err := of.Status(ctx, id)
		if err != nil {
			return fmt.Errorf("look at %s: %w", id, err)
		}
		status := processes.Health()
		if status.Ready() {
			return nil
		}
		if err := givesUp(status); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", id, context.Cause(ctx))
		}
	}
}

// tries is how often a component may end before it is said not to come up.
const tries = 3

// givesUp says why a workload will not come up without help, or nil. It is pure.
func givesUp(status health.Status) error {
	for _, c := range status.Components {
		if c.Reason == health.ReasonPortTaken {
			return fmt.Errorf("start %s: %s; stop the program that listens there and try again", c.Name, c.Message)
		}
		if c.LastExit != nil && c.Restarts >= tries {
			return fmt.Errorf("start %s: it was tried %d times, and the last time it %s", c.Name, c.Restarts, ended(*c.LastExit))
		}
	}
	return nil
}

// ended says how a program ended, with all that is known of why.
func ended(exit health.Exit) string {
	switch {
	case exit.Error != "":
		return "could not be started: " + exit.Error
	case exit.Signal != "":
		return fmt.Sprintf("was ended by a signal (%s); its last words are:\n%s", exit.Signal, exit.Log)
	}
	return fmt.Sprintf("ended with code %d; its last words are:\n%s", exit.Code, exit.Log)
}
