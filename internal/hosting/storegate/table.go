package storegate

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// Tenant is a control plane that may use the store behind a gate.
type Tenant struct {
	// Group is whose quota it shares: the namespace of the control plane.
	Group string `json:"group"`
	// Certificate and Key are, in PEM, with what the gate is that tenant to etcd.
	Certificate []byte `json:"certificate"`
	Key         []byte `json:"key"`
}

func (t Tenant) equal(other Tenant) bool {
	return t.Group == other.Group && bytes.Equal(t.Certificate, other.Certificate) && bytes.Equal(t.Key, other.Key)
}

// Table is the tenants and the quotas of a gate that runs as a process of its own: a file, which KQueen writes and the process
// follows, so that both come and go without the other. It is safe for concurrent use.
type Table struct {
	file string

	mu  sync.Mutex
	now listing
	// written is the file that says just that; nil when none does, or when it is not known who can read it.
	written os.FileInfo
}

// listing is what stands in the file.
type listing struct {
	// Tenants are keyed by the UID of the control plane.
	Tenants map[string]Tenant `json:"tenants"`
	// Quotas are bytes that a group may hold; one that is not here may hold as much as it wants.
	Quotas map[string]int64 `json:"quotas"`
}

func (w listing) equal(other listing) bool {
	return maps.EqualFunc(w.Tenants, other.Tenants, Tenant.equal) && maps.Equal(w.Quotas, other.Quotas)
}

// OpenTable reads a table. One that does not exist is empty, and so is one that cannot be read, of which the error says
// why: the reconciler of control planes writes each tenant anew, and until then the process goes on with those that it has.
func OpenTable(file string) (t *Table, damaged error) {
	t = &Table{file: file, now: listing{Tenants: map[string]Tenant{}, Quotas: map[string]int64{}}}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	var now listing
	if err == nil {
		now, _, err = parseTable(data)
	}
	if err != nil {
		return t, err
	}
	t.now = now
	return t, nil
}

// Get returns the tenant of a UID.
func (t *Table) Get(uid string) (Tenant, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	tenant, ok := t.now.Tenants[uid]
	return tenant, ok
}

// Set lets a tenant in, under the quota of its group in bytes; nil for none. It is idempotent.
func (t *Table) Set(uid string, tenant Tenant, quota *int64) error {
	if _, err := readTenant(uid, tenant); err != nil {
		return err
	}
	return t.change(func(w listing) {
		w.Tenants[uid] = tenant
		w.limit(tenant.Group, quota)
	})
}

// SetQuota sets what a group may hold, in bytes; nil for as much as it wants. It is idempotent.
func (t *Table) SetQuota(group string, quota *int64) error {
	return t.change(func(w listing) { w.limit(group, quota) })
}

// Remove cuts a tenant off. It is idempotent.
func (t *Table) Remove(uid string) error {
	return t.change(func(w listing) { delete(w.Tenants, uid) })
}

func (w listing) limit(group string, quota *int64) {
	if quota == nil {
		delete(w.Quotas, group)
		return
	}
	w.Quotas[group] = max(*quota, 0)
}

// change writes the file when something has changed. What could not be written is not taken for written.
func (t *Table) change(edit func(listing)) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	next := listing{Tenants: maps.Clone(t.now.Tenants), Quotas: maps.Clone(t.now.Quotas)}
	edit(next)
	if next.equal(t.now) && t.stands() {
		return nil
	}
	data, err := json.MarshalIndent(next, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the tenants of the store gate: %w", err)
	}
	// The gate reads it as another user, whose group the directory gives it.
	if err := atomicfile.Write(t.file, data, 0o640); err != nil {
		return fmt.Errorf("write the tenants of the store gate: %w", err)
	}
	if t.written, err = os.Stat(t.file); err != nil {
		return fmt.Errorf("look at the tenants of the store gate: %w", err)
	}
	t.now = next
	return nil
}

// stands says whether the file is the one that was written last: what was damaged or removed is written anew before the gate, which
// has read it already, is started again and finds nothing.
func (t *Table) stands() bool {
	if t.written == nil {
		return false
	}
	there, err := os.Stat(t.file)
	return err == nil && os.SameFile(there, t.written) && there.ModTime().Equal(t.written.ModTime()) && there.Size() == t.written.Size()
}

// parseTable reads all or nothing.
func parseTable(data []byte) (listing, contents, error) {
	var w listing
	if err := json.Unmarshal(data, &w); err != nil {
		return listing{}, contents{}, fmt.Errorf("read the tenants of the store gate: %w", err)
	}
	if w.Tenants == nil || w.Quotas == nil {
		return listing{}, contents{}, errors.New("read the tenants of the store gate: there are no tenants or no quotas in it")
	}
	c := contents{tenants: map[string]member{}, quotas: w.Quotas}
	for _, uid := range slices.Sorted(maps.Keys(w.Tenants)) {
		m, err := readTenant(uid, w.Tenants[uid])
		if err != nil {
			return listing{}, contents{}, err
		}
		c.tenants[m.keyspace.User()] = m
	}
	for group, quota := range w.Quotas {
		if quota < 0 {
			return listing{}, contents{}, fmt.Errorf("quota of %s in the store gate: %d is negative", group, quota)
		}
	}
	return w, c, nil
}

func readTenant(uid string, t Tenant) (member, error) {
	keyspace, err := datastore.NewKeyspace(uid)
	if err != nil {
		return member{}, fmt.Errorf("tenant of the store gate: %w", err)
	}
	if t.Group == "" {
		return member{}, fmt.Errorf("tenant %s of the store gate: group is empty", uid)
	}
	credential, err := tls.X509KeyPair(t.Certificate, t.Key)
	if err != nil {
		return member{}, fmt.Errorf("tenant %s of the store gate: certificate and key: %w", uid, err)
	}
	if name := credential.Leaf.Subject.CommonName; name != keyspace.User() {
		return member{}, fmt.Errorf("tenant %s of the store gate: certificate is that of %q, want %q", uid, name, keyspace.User())
	}
	return member{keyspace: keyspace, group: t.Group, credential: &credential}, nil
}
