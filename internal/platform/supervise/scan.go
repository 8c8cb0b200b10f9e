package supervise

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names of the marks. Changing one loses every running process on upgrade.
const (
	markInstance  = "KQUEEN_INSTANCE"
	markWorkload  = "KQUEEN_WORKLOAD"
	markComponent = "KQUEEN_COMPONENT"
	markSpec      = "KQUEEN_SPEC"
	// markLeaves is there for those alone that can be replaced while they run.
	markLeaves = "KQUEEN_LEAVES"
)

// marks tell whose a process is. Children of a component inherit them.
type marks struct {
	instance, workload, component, spec string
	handing
}

// handing is what a process says of how another one takes its place.
type handing struct {
	leaves time.Duration // within that time it leaves then; 0: none can
	probe  string        // the URL where it says how it is
	hands  string        // see Component.Hands
}

func (m marks) environ() []string {
	all := []string{
		markInstance + "=" + m.instance, markWorkload + "=" + m.workload,
		markComponent + "=" + m.component, markSpec + "=" + m.spec,
	}
	if m.leaves > 0 {
		all = append(all, markLeaves+"="+m.leaves.String()+" "+m.probe+" "+m.hands)
	}
	return all
}

// instanceOf names a supervisor by its directory.
func instanceOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:16])
}

// parseMarks reads the marks from the content of /proc/<pid>/environ. ok is false unless all are there and the names
// are such as we make.
func parseMarks(environ []byte) (m marks, ok bool) {
	if !bytes.Contains(environ, []byte(markInstance+"=")) {
		return marks{}, false
	}
	for entry := range strings.SplitSeq(string(environ), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case markInstance:
			m.instance = value
		case markWorkload:
			m.workload = value
		case markComponent:
			m.component = value
		case markSpec:
			m.spec = value
		case markLeaves:
			within, rest, _ := strings.Cut(value, " ")
			m.probe, m.hands, _ = strings.Cut(rest, " ")
			m.leaves, _ = time.ParseDuration(within) // one that is none cannot be replaced
		}
	}
	ok = m.instance != "" && m.spec != "" &&
		CheckName("", m.workload) == nil && CheckName("", m.component) == nil
	return m, ok
}

// found is a marked process.
type found struct {
	marks
	pid    int
	uid    int // its user
	start  uint64
	leader bool // of its session: started by a supervisor, not by a component
}

// scan reads the marks of all living processes and returns those of this instance that are to be believed; which of those
// that are confined are what they say they are, the userBook knows. A process in the midst of exec has no environment yet;
// unborn counts those that may become ours.
func scan(instance string) (all []found, unborn int, err error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, 0, fmt.Errorf("scan processes: %w", err)
	}
	uid := os.Geteuid()
	var seen []candidate
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		c, verdict := inspect(pid, uid)
		switch verdict {
		case isUnborn:
			unborn++
		case isOfUse:
			seen = append(seen, c)
		}
	}
	all = slices.DeleteFunc(believed(seen, uid), func(f found) bool { return f.instance != instance })
	return all, unborn, nil
}

type verdict int

const (
	isForeign verdict = iota
	isOfUse
	isUnborn
)

// inspect looks at one process. One that vanishes meanwhile is foreign.
func inspect(pid, uid int) (candidate, verdict) {
	c, ok := locate(pid, uid)
	if !ok {
		return candidate{}, isForeign
	}
	before, err := readStat(pid)
	if err != nil || before.dead() {
		return candidate{}, isForeign
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return candidate{}, isForeign
	}
	if len(environ) == 0 && before.session == pid && !before.kernel() {
		return candidate{}, isUnborn
	}
	m, ok := parseMarks(environ)
	after, err := readStat(pid)
	if !ok && !c.first() || err != nil || after.start != before.start {
		return candidate{}, isForeign
	}
	c.marked = ok
	c.found = found{marks: m, pid: pid, uid: c.user, start: after.start, leader: after.session == pid}
	return c, isOfUse
}

// locate finds out where a process is, and whether there it can be of use.
func locate(pid, uid int) (candidate, bool) {
	at, err := readPlace(pid)
	if err != nil || at.outside() && at.user != uid && (uid != 0 || !isUser(at.user)) {
		return candidate{}, false
	}
	c := candidate{place: at}
	if at.inside() {
		c.space, err = os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	}
	return c, err == nil && (at.inside() || at.outside())
}

// oldestFirst sorts processes by when they began.
func oldestFirst(all []found) []found {
	slices.SortFunc(all, func(a, b found) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid)) })
	return all
}

// scanAll is scan for a new supervisor: it waits, 100 ms at most, for processes in the midst of exec. Programs that
// truly have no environment cost that wait.
func scanAll(ctx context.Context, instance string) ([]found, error) {
	ctx, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		all, unborn, err := scan(instance)
		if err != nil || unborn == 0 {
			return all, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return all, nil
		}
	}
}

// sweep kills every process of a workload that is still there, children of components included, and waits for their end
// or that of ctx.
func sweep(ctx context.Context, instance, id string, ours func([]found) []found) error {
	for {
		all, _, err := scan(instance)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(ours(all), func(f found) bool { return f.workload != id })
		if len(all) == 0 {
			return nil
		}
		for _, f := range all {
			if err := kill(ctx, f); err != nil {
				return fmt.Errorf("kill %d (%s of %s): %w", f.pid, f.component, f.workload, err)
			}
		}
	}
}

func kill(ctx context.Context, f found) error {
	p, err := adopt(f)
	if err != nil && isGone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer p.release()
	if err := p.signal(unix.SIGKILL); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
