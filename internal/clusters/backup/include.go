package backup

import (
	"fmt"
	"strings"

	"kqueen.io/kqueen/internal/clusters/stored"
	"kqueen.io/kqueen/internal/hosting/datastore"
)

// selection are the objects that a restore is for; all where it is empty.
type selection []selector

// selector is one of spec.include.
type selector struct {
	text string
	// kind is in lower case, as far as its group is said.
	kind, group string
	grouped     bool
	name        stored.Name
}

// selectionOf reads spec.include. It is pure.
func selectionOf(include []string) (selection, error) {
	var all selection
	for n, text := range include {
		parts := strings.Split(text, "/")
		if len(parts) < 2 || len(parts) > 3 {
			return nil, fmt.Errorf("spec.include[%d]: %q has to be KIND/NAME or KIND/NAMESPACE/NAME", n, text)
		}
		s := selector{text: text, name: stored.Name{Name: parts[len(parts)-1]}}
		s.kind, s.group, s.grouped = strings.Cut(strings.ToLower(parts[0]), ".")
		if len(parts) == 3 {
			s.name.Namespace = parts[1]
		}
		all = append(all, s)
	}
	return all, nil
}

// has says whether an entry is one of the objects. It is pure.
func (all selection) has(e datastore.Entry) bool {
	if len(all) == 0 {
		return true
	}
	for _, s := range all {
		if s.has(e) {
			return true
		}
	}
	return false
}

func (s selector) has(e datastore.Entry) bool {
	n := stored.NameOf(e.Key)
	if s.kind == "namespace" && !s.grouped {
		return n.Namespace == s.name.Name || n == stored.Name{Name: s.name.Name} && strings.HasPrefix(e.Key, "namespaces/")
	}
	if n.Namespace != s.name.Namespace || s.name.Name != "*" && n.Name != s.name.Name {
		return false
	}
	kind := stored.KindOf(e)
	return strings.EqualFold(kind.Kind, s.kind) && (!s.grouped || kind.Group == s.group)
}

// without returns what is named and not seen.
func (all selection) without(seen map[string]bool) []string {
	var out []string
	for _, s := range all {
		if !seen[s.text] {
			out = append(out, s.text)
		}
	}
	return out
}

// see notes which of them an entry is.
func (all selection) see(seen map[string]bool, e datastore.Entry) {
	for _, s := range all {
		if !seen[s.text] && s.has(e) {
			seen[s.text] = true
		}
	}
}
