// Package health is the state of running programs: ready, starting or failing, and in words why. Whatever runs
// programs reports it, as processes of a host or in any other way, and reconcilers read it.
//
// It hides nothing. Runners of control planes, the supervisor of host processes and the reconcilers over them may
// import it.
package health

import (
	"slices"
	"time"
)

// State is where a program is in its life.
//
//	             +--------- Waiting <--(predecessors not ready)--+
//	             v                                               |
//	described -> Starting --> Ready <--> NotReady             Backoff
//	             |           |            |                      ^
//	             +-----------+------------+-------- exit --------+
//
//	any  --described otherwise, no longer described, removed--> Stopping --> Waiting, Starting or gone
type State string

// States of a program.
const (
	Waiting  State = "Waiting"  // for the programs that come before it
	Starting State = "Starting" // runs, never ready yet
	Ready    State = "Ready"
	NotReady State = "NotReady" // runs, was ready, does not answer its probe any more
	Backoff  State = "Backoff"  // ended or could not start; next retry at NextStart
	Stopping State = "Stopping" // was told to end
)

// Reasons why a program could not start.
const (
	ReasonPortTaken   = "PortTaken"   // another program listens on one of its ports
	ReasonStartFailed = "StartFailed" // the program could not be executed
)

// Status is what programs that belong together do now.
type Status struct {
	Components []Component // sorted by name
	// Confinement says what keeps the programs from the host and from others, in words: "complete", or what is missing and
	// why. Empty when it is not known.
	Confinement string
}

// Ready reports whether there are components and all are ready.
func (s Status) Ready() bool {
	return len(s.Components) > 0 && !slices.ContainsFunc(s.Components, func(c Component) bool { return c.State != Ready })
}

// Component returns the status of one component, or false.
func (s Status) Component(name string) (Component, bool) {
	for _, c := range s.Components {
		if c.Name == name {
			return c, true
		}
	}
	return Component{}, false
}

// Component is what one program does now.
type Component struct {
	Name      string
	State     State
	Reason    string    // one of the Reason constants, or empty
	Message   string    // for a user: what it waits for, what the probe said
	StartedAt time.Time // of the program that runs; another one after each start
	Restarts  int       // starts after an end that was not asked for
	LastExit  *Exit     // last end that was not asked for
	NextStart time.Time // when backing off
	// Leaving is how many programs still serve whose place this one takes, or has taken: they were described otherwise.
	Leaving int
}

// Exit tells how a program ended, or why it could not start.
type Exit struct {
	At     time.Time
	Code   int    // exit code; -1 when it ended by a signal, did not start, or it is not known
	Signal string // such as "killed"; empty when none
	Error  string // why it could not be started; empty when it ran
	// Hung is for how long its probe had no answer when it was ended for that; 0 when it ended by itself.
	Hung time.Duration
	Log  string // last whole lines of its log, at most 2 KiB
}
