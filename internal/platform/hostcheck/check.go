package hostcheck

import (
	"fmt"
	"slices"
	"strconv"
)

// Result is what a check came to.
type Result string

const (
	// OK is for what the load fits in.
	OK Result = "ok"
	// Warning is for what works, with a drawback that Why says.
	Warning Result = "warning"
	// Failed is for what the load does not fit in.
	Failed Result = "failed"
	// Unknown is for what the host does not say.
	Unknown Result = "unknown"
)

// Check is one thing that a host has to have.
type Check struct {
	Name   string `json:"name"`
	Result Result `json:"result"`
	// Found is what the host has now, and Needed what the load needs.
	Found  string `json:"found"`
	Needed string `json:"needed"`
	// Why says what happens with less, and Remedy what to do about it; both are empty where nothing is to be done.
	Why    string `json:"why,omitempty"`
	Remedy string `json:"remedy,omitempty"`
	// Setting is what the remedy sets, where that is a setting of the kernel which KQueen may write with consent.
	Setting *Setting `json:"setting,omitempty"`
	// Blocks says that KQueen cannot work at all.
	Blocks bool `json:"blocks,omitempty"`
}

// Setting is a sysctl and a value that is enough.
type Setting struct {
	Sysctl string `json:"sysctl"`
	Value  int64  `json:"value"`
}

func (c Check) String() string {
	text := fmt.Sprintf("%s: %s, needed: %s", c.Name, c.Found, c.Needed)
	if c.Why != "" {
		text += "; " + c.Why
	}
	if c.Remedy != "" {
		text += "; " + c.Remedy
	}
	return text
}

// Size is how many clusters and nodes a host is checked for.
type Size struct{ Clusters, Nodes int64 }

// String names the size as a user asks for it.
func (s Size) String() string {
	return plural(s.Clusters, "cluster") + " and " + plural(s.Nodes, "node")
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.FormatInt(n, 10) + " " + what + "s"
}

// All is every check of a host for a size, in the order of a report. It is pure.
func All(f Facts, size Size) []Check {
	var all []Check
	for _, limit := range limits() {
		all = append(all, f.limit(limit, size))
	}
	all = append(all, f.openFiles(size), f.memory(size), f.disk(size), f.sync(), f.clock())
	if size.Nodes > 0 {
		all = append(all, f.forwarding(), f.forwarded(), f.cgroups(), f.packetFilter(), f.root())
	}
	all = append(all, f.portRange())
	for _, p := range f.Ports {
		all = append(all, p.check())
	}
	return all
}

// Problems are the checks that failed, or warn. It is pure.
func Problems(all []Check, results ...Result) []Check {
	return slices.DeleteFunc(slices.Clone(all), func(c Check) bool { return !slices.Contains(results, c.Result) })
}

// Blocking are the checks without which KQueen cannot work at all. It is pure.
func Blocking(all []Check) []Check {
	return slices.DeleteFunc(slices.Clone(all), func(c Check) bool { return !c.Blocks })
}

// load is what a host of this kind carries with so many clusters and nodes: with the admin plane, and machines with users of
// their own.
func (f Facts) load(size Size) Load {
	return Load{Planes: size.Clusters + 1, Machines: size.Nodes, Unified: f.Unified, Root: f.Root}
}

// limit is the check of a limit of the kernel.
func (f Facts) limit(of limit, size Size) Check {
	s, short := f.Sysctls.shortage(of, f.load(size))
	c := Check{Name: of.sysctl, Result: OK, Found: strconv.FormatInt(s.Have, 10), Needed: strconv.FormatInt(s.Need, 10)}
	if s.Need > 0 {
		c.Needed += " " + of.of
	}
	if _, known := f.Sysctls[of.sysctl]; !known {
		c.Result, c.Found = Unknown, "not told by this kernel"
		return c
	}
	if !short {
		return c
	}
	c.Result, c.Why = Failed, of.breaks
	c.Setting = &Setting{Sysctl: of.sysctl, Value: s.Full}
	c.Remedy = fmt.Sprintf("set it with: sysctl -w %s=%d", of.sysctl, s.Full)
	c.Blocks = of.sysctl == Instances && s.Have < f.leastInstances()
	return c
}

// leastInstances are those without which not even one cluster gets ready beside the admin plane, if the user has no other
// programs.
func (f Facts) leastInstances() int64 {
	if f.Root {
		return planeInstances
	}
	return 2 * planeInstances
}
