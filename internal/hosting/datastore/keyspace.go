package datastore

import (
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	tenantRoot = "/kqueen/"
	adminRoot  = "/kqueen-admin/"
	userPrefix = "kqueen-"
	// adminUID is no UID that NewKeyspace accepts ("m" is no hexadecimal digit), so that no tenant can be named into the admin plane's keyspace.
	adminUID = "admin"

	minUID, maxUID = 8, 64
)

// Keyspace is the part of an etcd that belongs to one control plane. The zero value belongs to no control plane, and every Store method refuses it.
// Keyspaces are comparable.
type Keyspace struct{ uid string }

// KeyspaceError says why a UID cannot name a keyspace.
type KeyspaceError struct {
	UID     string
	Problem string
}

func (e *KeyspaceError) Error() string {
	return fmt.Sprintf("keyspace uid %.80q %s: want %d to %d characters of 0-9, a-f and \"-\", as in a Kubernetes UID", e.UID, e.Problem, minUID, maxUID)
}

// NewKeyspace names the keyspace of the control plane with this UID. It refuses all but [0-9a-f-]{8,64} with a [*KeyspaceError]:
// a "/" or a second spelling of the same name would let prefixes nest or meet (Kamaji's CVE-2024-42480 was of this kind).
func NewKeyspace(uid string) (Keyspace, error) {
	if len(uid) < minUID {
		return Keyspace{}, &KeyspaceError{UID: uid, Problem: fmt.Sprintf("is too short (%d)", len(uid))}
	}
	if len(uid) > maxUID {
		return Keyspace{}, &KeyspaceError{UID: uid, Problem: fmt.Sprintf("is too long (%d)", len(uid))}
	}
	for i := range len(uid) {
		c := uid[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && c != '-' {
			return Keyspace{}, &KeyspaceError{UID: uid, Problem: fmt.Sprintf("has %q at position %d", c, i)}
		}
	}
	return Keyspace{uid: uid}, nil
}

// AdminKeyspace is the keyspace of KQueen's own admin plane. No UID leads to it, and [Store.Remove] refuses it.
func AdminKeyspace() Keyspace { return Keyspace{uid: adminUID} }

// UID is the UID of the control plane, and "admin" for the admin plane.
func (k Keyspace) UID() string { return k.uid }

// Prefix is where all keys of the keyspace begin: "/kqueen/<uid>/". It always ends with "/": a grant on "/kqueen/a" would also open "/kqueen/ab".
func (k Keyspace) Prefix() string {
	if k.uid == adminUID {
		return adminRoot
	}
	return tenantRoot + k.uid + "/"
}

// User is the etcd user, the role, and the common name of the tenant's client certificate: "kqueen-<uid>".
func (k Keyspace) User() string { return userPrefix + k.uid }

// end is the first key behind the keyspace.
func (k Keyspace) end() string { return clientv3.GetPrefixRangeEnd(k.Prefix()) }

func (k Keyspace) check() error {
	if k.uid == "" {
		return &KeyspaceError{Problem: "is empty"}
	}
	return nil
}
