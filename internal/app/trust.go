//go:build linux

package app

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// ledger remembers in the settings which roots of trust the installation has made. It implements [pki.Ledger].
type ledger struct{ a *App }

// Roots implements [pki.Ledger].
func (l ledger) Roots(file string) map[string]string {
	l.a.remembering.Lock()
	defer l.a.remembering.Unlock()
	return maps.Clone(l.a.settings.Trust[file])
}

// Note implements [pki.Ledger].
func (l ledger) Note(file string, roots map[string]string) error {
	return l.remember(func(s *settings) {
		if maps.Equal(s.Trust[file], roots) {
			return
		}
		trust := maps.Clone(s.Trust)
		if trust == nil {
			trust = map[string]map[string]string{}
		}
		trust[file] = maps.Clone(roots)
		s.Trust = trust
	})
}

// remember changes the settings and keeps them.
func (l ledger) remember(change func(*settings)) error {
	l.a.remembering.Lock()
	defer l.a.remembering.Unlock()
	change(l.a.settings)
	return l.a.settings.save(l.a.Dir)
}

// problems are what is wrong with the installation now, in words for its owner, by the part that has it.
type problems struct {
	mu   sync.Mutex
	said map[string]string
}

// note says what is wrong with a part, in the place of what was said before; nothing when it is well.
func (p *problems) note(part string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		delete(p.said, part)
		return
	}
	if p.said == nil {
		p.said = map[string]string{}
	}
	p.said[part] = strings.ReplaceAll(err.Error(), "\n", "; ")
}

// has says whether something is wrong with a part.
func (p *problems) has(part string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said[part] != ""
}

// list returns all of them in order.
func (p *problems) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Values(p.said))
}
