package operatortest

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is a way in which a call goes wrong.
type Fault string

// The faults.
const (
	// FailBefore: the call is not performed and returns an error.
	FailBefore Fault = "fail-before"
	// LostReply: the call is performed, and the answer is an error.
	LostReply Fault = "lost-reply"
	// CrashBefore: the process dies before the call.
	CrashBefore Fault = "crash-before"
	// CrashAfter: the call is performed and the process dies before it learns so.
	CrashAfter Fault = "crash-after"
	// Conflict: the call is refused because another client wrote meanwhile.
	Conflict Fault = "conflict"
)

// Calls of one sort can go wrong in the same ways.
var (
	// reading has no effects: an answer that is lost is as good as a call that was not made.
	reading = []Fault{FailBefore, CrashBefore}
	acting  = []Fault{FailBefore, LostReply, CrashBefore, CrashAfter}
	// writing is acting on an object that has a version.
	writing = append(slices.Clip(acting), Conflict)
	// certain calls return no error.
	certain = []Fault{CrashBefore, CrashAfter}
)

// errInjected is what a broken call returns: as plain as a torn connection.
var errInjected = errors.New("injected: connection reset by peer")

// crash is the panic that stands for the end of the process. Only the kit recovers it.
type crash struct{ call string }

// readsPerFault is of how many reads one fails in a run that does not try all faults: most calls of a reconciler are reads.
const readsPerFault = 3

// call is one call that a reconciler makes.
type call struct {
	name   string
	faults []Fault
	first  bool // of a run of the reconciler
}

// reads says that a call has no effects.
func (c call) reads() bool { return !slices.Contains(c.faults, CrashAfter) }

// chosen says whether the n-th fault of the call is the one to be tried, where not all are. It is pure.
func (c call) chosen(n, turn int) bool {
	switch {
	case !c.reads():
		return n == turn%len(c.faults)
	case turn%readsPerFault != 0:
		return false
	case c.first:
		return n == turn/readsPerFault%len(c.faults)
	}
	return c.faults[n] == FailBefore // a crash is the same as one after the last act
}

// strike is a fault at a call.
type strike struct {
	at    int
	fault Fault
}

// strikesOf are those to be tried of calls, each once: every one, or those of a turn. It is pure.
func strikesOf(calls []call, every bool, turn int) (strikes []strike) {
	tried := map[strike]bool{}
	for at, c := range calls {
		for n, fault := range c.faults {
			s := strike{at, fault}.earliest(calls)
			if !every && !c.chosen(n, turn+at) || tried[s] {
				continue
			}
			tried[s] = true
			strikes = append(strikes, s)
		}
	}
	return strikes
}

// earliest returns the first strike that is the same as s for all that outlives the process: a crash after a call is one before
// the next, and a crash before a call is one before the reads that led to it. Between two runs of the reconciler the outside
// moves. It is pure.
func (s strike) earliest(calls []call) strike {
	if next := s.at + 1; s.fault == CrashAfter && next < len(calls) && !calls[next].first {
		s = strike{next, CrashBefore}
	}
	for s.fault == CrashBefore && !calls[s.at].first && calls[s.at-1].reads() {
		s.at--
	}
	return s
}

// Injector counts the calls of a reconciler and breaks one of them; the zero value breaks none. It is safe for concurrent use,
// but calls from several goroutines have no order that could be replayed.
type Injector struct {
	mu     sync.Mutex
	calls  []call
	at     int // the call to break; -1 for none
	fault  Fault
	fired  bool
	begun  bool // the reconciler runs, and has made no call yet
	dead   bool // the process has crashed: nothing that it still tries has an effect
	writes int  // writes through Client that were performed
}

func newInjector(at int, fault Fault) *Injector { return &Injector{at: at, fault: fault} }

// Call counts, and maybe breaks, a call with effects on a collaborator.
func (i *Injector) Call(name string, do func() error) error {
	return i.do(call{name: name, faults: acting}, do)
}

// Read is Call for a call without effects.
func (i *Injector) Read(name string, do func() error) error {
	return i.do(call{name: name, faults: reading}, do)
}

// Certain is Call for a call that cannot fail: the process can only die around it.
func (i *Injector) Certain(name string, do func()) {
	_ = i.do(call{name: name, faults: certain}, func() error { do(); return nil })
}

// Value is Call with a result. It is the zero value when the call is broken.
func Value[T any](i *Injector, name string, do func() (T, error)) (T, error) {
	return value(i.Call, name, do)
}

// ReadValue is Read with a result. It is the zero value when the call is broken.
func ReadValue[T any](i *Injector, name string, do func() (T, error)) (T, error) {
	return value(i.Read, name, do)
}

func value[T any](through func(string, func() error) error, name string, do func() (T, error)) (T, error) {
	var got, zero T
	err := through(name, func() (err error) {
		got, err = do()
		return err
	})
	if err != nil {
		return zero, err
	}
	return got, nil
}

func (i *Injector) do(c call, do func() error) error {
	switch i.begin(c) {
	case FailBefore:
		return errInjected
	case Conflict:
		return apierrors.NewConflict(schema.GroupResource{Resource: c.name}, "object", errInjected)
	case CrashBefore:
		i.crash(c)
	case LostReply:
		if err := do(); err != nil {
			return err
		}
		return errInjected
	case CrashAfter:
		_ = do()
		i.crash(c)
	}
	return do()
}

// begin counts a call and returns the fault that it is to have, if any.
func (i *Injector) begin(c call) Fault {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.dead {
		panic(crash{c.name}) // a deferred call of a process that is no more
	}
	c.first, i.begun = i.begun, false
	i.calls = append(i.calls, c)
	if i.fired || i.at != len(i.calls)-1 {
		return ""
	}
	i.fired = true
	return i.fault
}

func (i *Injector) crash(c call) {
	i.mu.Lock()
	i.dead = true
	i.mu.Unlock()
	panic(crash{c.name})
}

// begins notes that the reconciler begins to run.
func (i *Injector) begins() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.begun = true
}

// revive begins the life of a new process.
func (i *Injector) revive() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dead = false
}

func (i *Injector) wrote() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.writes++
}

// count returns how many writes were performed through Client.
func (i *Injector) count() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.writes
}

func (i *Injector) hasFired() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fired
}

// called returns the name of the n-th call, or that there was none.
func (i *Injector) called(n int) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n >= len(i.calls) {
		return fmt.Sprintf("nothing (only %d calls were made)", len(i.calls))
	}
	return i.calls[n].name
}
