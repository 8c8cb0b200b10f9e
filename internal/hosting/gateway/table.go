package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"

	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// Table is the routes of a gateway that runs as a process of its own: a file, which KQueen writes and the process
// follows, so that both come and go without the other. It is safe for concurrent use.
type Table struct {
	file string

	mu      sync.Mutex
	routes  map[string]netip.AddrPort
	written bool // the file says just that, unless it was removed since
}

// OpenTable reads a table. One that does not exist is empty, and so is one that cannot be read, of which the error says
// why: [Routes.Restore] has its routes from the statuses of control planes, and until then the process goes on with those
// that it has.
func OpenTable(file string) (t *Table, damaged error) {
	routes, err := readTable(file)
	if err != nil {
		routes = map[string]netip.AddrPort{}
	}
	t = &Table{file: file, routes: routes, written: err == nil}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return t, err
}

// Set has connections for host passed on to backend. It is idempotent.
func (t *Table) Set(host string, backend netip.AddrPort) error {
	if err := check(host, backend); err != nil {
		return err
	}
	return t.change(func(routes map[string]netip.AddrPort) { routes[canonical(host)] = backend })
}

// Remove refuses connections for host and cuts the open ones. It is idempotent.
func (t *Table) Remove(host string) error {
	return t.change(func(routes map[string]netip.AddrPort) { delete(routes, canonical(host)) })
}

// Replace makes the table what routes say.
func (t *Table) Replace(routes map[string]netip.AddrPort) error {
	wanted := map[string]netip.AddrPort{}
	for host, backend := range routes {
		if err := check(host, backend); err != nil {
			return err
		}
		wanted[canonical(host)] = backend
	}
	return t.change(func(routes map[string]netip.AddrPort) {
		clear(routes)
		maps.Copy(routes, wanted)
	})
}

// change writes the file when something has changed. What could not be written is not taken for written.
func (t *Table) change(edit func(map[string]netip.AddrPort)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	routes := maps.Clone(t.routes)
	edit(routes)
	if t.written && maps.Equal(routes, t.routes) {
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
func readTable(file string) (map[string]netip.AddrPort, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return parseTable(data)
}

func parseTable(data []byte) (map[string]netip.AddrPort, error) {
	routes := map[string]netip.AddrPort{}
	if err := json.Unmarshal(data, &routes); err != nil {
		return nil, fmt.Errorf("read the gateway's routes: %w", err)
	}
	for _, host := range slices.Sorted(maps.Keys(routes)) {
		if err := check(host, routes[host]); err != nil {
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
