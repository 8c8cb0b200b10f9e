package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// place is where in the tree of process namespaces a process is (/proc/<pid>/status, proc_pid_status(5)).
type place struct {
	user   int // effective
	parent int
	pids   []int // its number in each namespace, from ours inward
}

// outside says that the process is in our own namespace, where what we start is.
func (p place) outside() bool { return len(p.pids) == 1 }

// inside says that it is in a namespace within ours, such as that of a machine. Those further in, of pods, hold nothing
// that was started for us.
func (p place) inside() bool { return len(p.pids) == 2 }

// first says that it is process 1 of a namespace within ours.
func (p place) first() bool { return p.inside() && p.pids[1] == 1 }

func readPlace(pid int) (place, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return place{}, err
	}
	return parsePlace(data)
}

func parsePlace(status []byte) (place, error) {
	var p place
	for line := range bytes.Lines(status) {
		name, value, _ := strings.Cut(string(line), ":")
		fields := strings.Fields(value)
		var err error
		switch {
		case name == "PPid" && len(fields) == 1:
			p.parent, err = strconv.Atoi(fields[0])
		case name == "Uid" && len(fields) > 1:
			var uid uint64
			uid, err = strconv.ParseUint(fields[1], 10, 32)
			p.user = int(uid)
		case name == "NSpid":
			for _, f := range fields {
				var number int
				number, err = strconv.Atoi(f)
				p.pids = append(p.pids, number)
				if err != nil {
					break
				}
			}
		}
		if err != nil {
			return place{}, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(p.pids) == 0 {
		return place{}, errors.New("says no process id of its namespace")
	}
	return p, nil
}

// candidate is a process that carries marks, whatever they are worth, or is process 1 of a namespace within ours.
type candidate struct {
	found
	place
	marked bool
	space  string // name of its process namespace, when that is within ours
}

// believed are the processes whose marks are true: those of our own namespace, of our user, which only we write, and
// those within a machine that say they are of that machine's workload. What runs in a machine can write any environment
// and be root there, but cannot change in which namespace it is, nor who started process 1 of that. It is pure.
func believed(all []candidate, uid int) []found {
	owner := owners(all, uid)
	var out []found
	for _, c := range all {
		if !c.marked {
			continue
		}
		by, known := owner[c.space]
		// Those of the users that we give are for the userBook to judge.
		confined := uid == 0 && c.outside() && isUser(c.user)
		if c.ours(uid) || confined || known && c.inside() && c.speaksFor(by) {
			out = append(out, c.found)
		}
	}
	return out
}

// ours says that only we can have written the marks.
func (c candidate) ours(uid int) bool { return c.marked && c.outside() && c.user == uid }

// speaksFor says that what a process within says is about the workload of what started its process 1, and that it does not
// say that it is that itself.
func (c candidate) speaksFor(by candidate) bool {
	return by.instance == c.instance && by.workload == c.workload && (by.component != c.component || by.pid == c.pid)
}

// owners are what started process 1 of each namespace within ours. It is pure.
func owners(all []candidate, uid int) map[string]candidate {
	outside := map[int]candidate{}
	for _, c := range all {
		if c.ours(uid) {
			outside[c.pid] = c
		}
	}
	owner := map[string]candidate{}
	for _, c := range all {
		if !c.first() {
			continue
		}
		if by, ok := outside[c.parent]; ok {
			owner[c.space] = by
		} else if c.marked && c.user == uid {
			owner[c.space] = c // a machine of an earlier KQueen, which was process 1 itself
		}
	}
	return owner
}
