package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// Route is where connections for a name go.
type Route struct {
	Backend netip.AddrPort `json:"backend"`
	// Asleep says how the gateway stands in for the backend, which does not run; nil while it does.
	Asleep *Asleep `json:"asleep,omitempty"`
}

// MarshalJSON writes a route to a backend that runs as its address alone.
func (r Route) MarshalJSON() ([]byte, error) {
	if r.Asleep == nil {
		return json.Marshal(r.Backend)
	}
	type plain Route
	return json.Marshal(plain(r))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Route) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte(`"`)) {
		*r = Route{}
		return json.Unmarshal(data, &r.Backend)
	}
	type plain Route
	return json.Unmarshal(data, (*plain)(r))
}

// check says what is wrong with a route.
func (r Route) check(host string) error {
	name := canonical(host)
	if name == "" {
		return errors.New("gateway route: host is empty: want a DNS name")
	}
	if !r.Backend.IsValid() || r.Backend.Port() == 0 {
		return fmt.Errorf("gateway route %s: backend %q is not an address with a port", name, r.Backend)
	}
	if a := r.Asleep; a != nil && (a.Listen == "" || !filepath.IsAbs(a.Handover) || !filepath.IsAbs(a.Wake)) {
		return fmt.Errorf("gateway route %s: what it does while the backend sleeps is not complete", name)
	}
	return nil
}

// Table is the routes of a gateway that runs as a process of its own: a file, which KQueen writes and the process
// follows, so that both come and go without the other. It is safe for concurrent use.
type Table struct {
	file string

	mu      sync.Mutex
	routes  map[string]Route
	written bool // the file says just that, unless it was removed since
}

// OpenTable reads a table. One that does not exist is empty, and so is one that cannot be read, of which the error says
// why: [Routes.Restore] has its routes from the statuses of control planes, and until then the process goes on with those
// that it has.
func OpenTable(file string) (t *Table, damaged error) {
	routes, err := readTable(file)
	if err != nil {
		routes = map[string]Route{}
	}
	t = &Table{file: file, routes: routes, written: err == nil}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return t, err
}

// Set has connections for host go by a route. It is idempotent.
func (t *Table) Set(host string, to Route) error {
	if err := to.check(host); err != nil {
		return err
	}
	return t.change(func(routes map[string]Route) { routes[canonical(host)] = to })
}

// Remove refuses connections for host and cuts the open ones. It is idempotent.
func (t *Table) Remove(host string) error {
	return t.change(func(routes map[string]Route) { delete(routes, canonical(host)) })
}

// Replace makes the table what routes say.
func (t *Table) Replace(routes map[string]Route) error {
	wanted := map[string]Route{}
	for host, to := range routes {
		if err := to.check(host); err != nil {
			return err
		}
		wanted[canonical(host)] = to
	}
	return t.change(func(routes map[string]Route) {
		clear(routes)
		maps.Copy(routes, wanted)
	})
}

// change writes the file when something has changed. What could not be written is not taken for written.
func (t *Table) change(edit func(map[string]Route)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	routes := maps.Clone(t.routes)
	edit(routes)
	if t.written && maps.EqualFunc(routes, t.routes, func(a, b Route) bool { return reflect.DeepEqual(a, b) }) {
		if _, err := os.Stat(t.file); err == nil {
			return nil
		}
	}
	data, err := json.MarshalIndent(routes, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the gateway's routes: %w", err)
	}
	if err := atomicfile.Write(t.file, data, 0o600); err != nil {
		return fmt.Errorf("write the gateway's routes: %w", err)
	}
	t.routes, t.written = routes, true
	return nil
}

// readTable reads the routes in a file, all or none.
func readTable(file string) (map[string]Route, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseTable(data)
}

func parseTable(data []byte) (map[string]Route, error) {
	routes := map[string]Route{}
	if err := json.Unmarshal(data, &routes); err != nil {
		return nil, fmt.Errorf("read the gateway's routes: %w", err)
	}
	for _, host := range slices.Sorted(maps.Keys(routes)) {
		if err := routes[host].check(host); err != nil {
			return nil, err
		}
		if host != canonical(host) {
			return nil, fmt.Errorf("gateway route %q: is not in lower case, or ends with a dot", host)
		}
	}
	if routes == nil { // "null" is JSON
		return nil, errors.New("read the gateway's routes: they are null")
	}
	return routes, nil
}
