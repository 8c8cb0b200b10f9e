package hostcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// SettingsFile is what --fix writes. It is read when the host starts, after the distribution's own (sysctl.d(5)).
const SettingsFile = "/etc/sysctl.d/90-kqueen.conf"

// Plan is what of a host is to be changed.
type Plan struct {
	// Content is that of [SettingsFile].
	Content string
	// Changes are what changes now, by name.
	Changes []Change
}

// Change is one setting, before and after.
type Change struct {
	Sysctl   string
	From, To int64
}

// Fix is how failed checks are put right as far as settings of the kernel go. What the file has already stays, where it is
// not lower: two installations of one host share it. With nothing to change the plan is empty. It is pure.
func Fix(checks []Check, host Readings, existing string) Plan {
	want := parseSettings(existing)
	var plan Plan
	for _, c := range checks {
		if c.Result != Failed || c.Setting == nil {
			continue
		}
		to := max(c.Setting.Value, want[c.Setting.Sysctl])
		want[c.Setting.Sysctl] = to
		plan.Changes = append(plan.Changes, Change{Sysctl: c.Setting.Sysctl, From: host[c.Setting.Sysctl], To: to})
	}
	if len(plan.Changes) == 0 {
		return Plan{}
	}
	slices.SortFunc(plan.Changes, func(a, b Change) int { return cmp.Compare(a.Sysctl, b.Sysctl) })
	var text strings.Builder
	text.WriteString("# What clusters and nodes of KQueen need of this host. Written by: kqueen check --fix\n")
	for _, name := range slices.Sorted(maps.Keys(want)) {
		fmt.Fprintf(&text, "%s = %d\n", name, want[name])
	}
	plan.Content = text.String()
	return plan
}

// Undo are the commands that take the plan back.
func (p Plan) Undo() []string {
	undo := []string{"rm " + SettingsFile}
	for _, c := range p.Changes {
		undo = append(undo, fmt.Sprintf("sysctl -w %s=%d", c.Sysctl, c.From))
	}
	return undo
}

// parseSettings reads the numbers of such a file. Other lines are none of ours.
func parseSettings(text string) map[string]int64 {
	all := map[string]int64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(line, "=")
		n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		if name = strings.TrimSpace(name); ok && err == nil && !strings.HasPrefix(name, "#") {
			all[name] = n
		}
	}
	return all
}
