package operator

import (
	"fmt"
	"time"
)

// kind orders outcomes by what is to be done next.
type kind int

const (
	done kind = iota
	aside
	warned
	waiting
	retrying
	stalled
)

// Outcome is how one run of a phase ended. Make one with Done, Aside, Warn, Wait, Retry, Unknown or Stalled.
type Outcome struct {
	kind kind
	// unknown: the reconciler cannot tell how the phase's part is.
	unknown bool
	// late: the phase ran after one that had failed, see [Phase.Observes].
	late    bool
	reason  string
	message string
	after   time.Duration
}

// Done says that the phase's part of the object is as wanted. The condition becomes true.
func Done(reason, message string) Outcome {
	return Outcome{kind: done, reason: reason, message: message}
}

// DoneUntil is Done, and asks to be run again after the given time, for what ages, such as a certificate.
func DoneUntil(reason, message string, after time.Duration) Outcome {
	return Outcome{kind: done, reason: reason, message: message, after: after}
}

// Aside says that the phase's part is not as wanted, and that the object is what its users ask for all the same: the condition is
// false and Ready does not depend on it. The phases after it run. It is run again at the latest after the given time; zero leaves
// that to the watch and to the other phases.
func Aside(reason, message string, after time.Duration) Outcome {
	return Outcome{kind: aside, reason: reason, message: message, after: after}
}

// Warn says that the phase's part is not as wanted, and that the phases after it run nevertheless: they
// can still tell the truth, or mend it. The condition is false, and so is Ready, which repeats the first
// such phase. When the phase is run again is left to the watch and to the other phases. While the object
// is being deleted the rest waits, as with Wait.
func Warn(reason, message string) Outcome {
	return Outcome{kind: warned, reason: reason, message: message}
}

// Wait says that nothing is wrong and something else has to happen first. The phase is run again
// when a watch says so, and at the latest after the given time; zero leaves it to the watch alone.
func Wait(reason, message string, after time.Duration) Outcome {
	return Outcome{kind: waiting, reason: reason, message: message, after: after}
}

// Retry says that a step failed and that another try may succeed. The time between tries grows from
// one try to the next. The error's text becomes the condition's message, so it must be for the user to read,
// and the same from try to try.
func Retry(reason string, err error) Outcome {
	return Outcome{kind: retrying, reason: reason, message: err.Error()}
}

// RetryAfter is Retry for work that keeps its own time between tries.
func RetryAfter(reason string, err error, after time.Duration) Outcome {
	return Outcome{kind: retrying, reason: reason, message: err.Error(), after: after}
}

// Unknown is RetryAfter for a look that failed: how the phase's part is cannot be told, so the
// condition is Unknown and not false, and Ready with it. Zero grows the time as Retry does.
func Unknown(reason string, err error, after time.Duration) Outcome {
	return Outcome{kind: retrying, unknown: true, reason: reason, message: err.Error(), after: after}
}

// Stalled says that only a user or a change of the spec helps. It is looked at again when something
// that the reconciler watches changes, and now and then.
func Stalled(reason, format string, args ...any) Outcome {
	return Outcome{kind: stalled, reason: reason, message: fmt.Sprintf(format, args...)}
}

// IsDone says whether the phase's part is as wanted.
func (o Outcome) IsDone() bool { return o.kind == done }

// String is for test output.
func (o Outcome) String() string {
	return fmt.Sprintf("%s %s: %s", o.name(), o.reason, o.message)
}

// name says how the run of the phase ended, in a word.
func (o Outcome) name() string {
	if o.unknown {
		return "unknown"
	}
	return [...]string{"done", "aside", "warn", "wait", "retry", "stalled"}[o.kind]
}
