//go:build linux

package local

import (
	"fmt"
	"slices"
	"strings"

	"kqueen.io/kqueen/internal/platform/hostcheck"
	"kqueen.io/kqueen/internal/workers/machine"
	"kqueen.io/kqueen/internal/workers/node"
)

// vital are the shortages with which nodes do not get ready, as an error; nil for none. It is pure.
func vital(all []hostcheck.Shortage) error {
	all = slices.DeleteFunc(slices.Clone(all), func(s hostcheck.Shortage) bool { return !s.Vital })
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%w: a limit of the host is too low for another machine: %s", machine.ErrCapacity, strings.Join(wordsOf(all), "; "))
}

// Shortages says, in words and with the remedy, which limits of the host are too low for what runs on it, with so many
// workloads in all. One machine at least is counted where there can be any.
func (p *Provider) Shortages(workloads int) []string {
	p.mu.Lock()
	l := p.load(0)
	p.mu.Unlock()
	l.Planes = max(0, int64(workloads)-l.Machines)
	if p.facts.root {
		l.Machines = max(l.Machines, 1)
	}
	return wordsOf(p.limits().Shortages(l))
}

func wordsOf(all []hostcheck.Shortage) []string {
	var words []string
	for _, s := range all {
		words = append(words, s.String())
	}
	return words
}

// admit says why the host has no place for another machine. The caller holds p.mu.
func (p *Provider) admit() error { return vital(p.limits().Shortages(p.load(1))) }

// explain adds to what is said of a machine that does not run what of the host may be the cause.
func (p *Provider) explain(o machine.Observed) machine.Observed {
	if o.State == machine.Running {
		return o
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, words := range wordsOf(p.limits().Shortages(p.load(0))) {
		o.Message += "; " + words
	}
	return o
}

// load is what the host carries with more machines than there are. The caller holds p.mu.
func (p *Provider) load(more int64) hostcheck.Load {
	l := hostcheck.Load{Machines: int64(len(p.records)) + more, Root: p.facts.root, Unified: node.CgroupV2()}
	for _, r := range p.records {
		if r.Isolation == machine.IsolationOwnRoot {
			l.Shared++
		}
	}
	return l
}
