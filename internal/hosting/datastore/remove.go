package datastore

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// removeBatch is how many keys one call deletes: enough for speed, few enough that the other tenants' writes are not held up behind it.
const removeBatch = 500

// Remove takes the keyspace away: first its user, so that the tenant can write no more, then all keys, then its role. It is idempotent and
// may have died at any point; [Store.Keyspaces] finds what is left. Afterwards there is no key, user or role of this tenant.
// Its leases are not touched (etcd does not say whose they are): they hold no key any more and expire by themselves.
// The disk space comes back with etcd's next compaction. The admin plane's keyspace is refused.
func (s *Store) Remove(ctx context.Context, k Keyspace) error {
	if err := k.check(); err != nil {
		return err
	}
	if k == AdminKeyspace() {
		return errors.New("remove keyspace: the admin plane's keyspace cannot be removed")
	}
	_, err := call(ctx, s, "delete etcd user "+k.User(), func(ctx context.Context) (*clientv3.AuthUserDeleteResponse, error) {
		return s.client.UserDelete(ctx, k.User())
	})
	if err := unless(err, rpctypes.ErrUserNotFound); err != nil {
		return err
	}
	if err := s.deleteKeys(ctx, k); err != nil {
		return err
	}
	_, err = call(ctx, s, "delete etcd role "+k.User(), func(ctx context.Context) (*clientv3.AuthRoleDeleteResponse, error) {
		return s.client.RoleDelete(ctx, k.User())
	})
	if err := unless(err, rpctypes.ErrRoleNotFound); err != nil {
		return err
	}
	// A foreign user that held the role could still write until now.
	return s.deleteKeys(ctx, k)
}

func (s *Store) deleteKeys(ctx context.Context, k Keyspace) error {
	for {
		r, err := s.first(ctx, k.Prefix(), k.end(), removeBatch)
		if err != nil || len(r.Kvs) == 0 {
			return err
		}
		behind := string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
		_, err = call(ctx, s, "delete keys of "+k.Prefix(), func(ctx context.Context) (*clientv3.DeleteResponse, error) {
			return s.client.Delete(ctx, k.Prefix(), clientv3.WithRange(behind))
		})
		if err != nil {
			return err
		}
	}
}

// first reads the names of the first keys of [from, to).
func (s *Store) first(ctx context.Context, from, to string, limit int64) (*clientv3.GetResponse, error) {
	return call(ctx, s, "list keys from "+from, func(ctx context.Context) (*clientv3.GetResponse, error) {
		return s.client.Get(ctx, from, clientv3.WithRange(to), clientv3.WithKeysOnly(), clientv3.WithLimit(limit))
	})
}

// Keyspaces lists every tenant of which there is a user, a role or a key, sorted by prefix; so it finds half-made and half-removed ones.
// It reads at several moments: who sweeps orphans must list the wanted ones after this call, or it takes a newborn for an orphan.
func (s *Store) Keyspaces(ctx context.Context) ([]Keyspace, error) {
	users, err := call(ctx, s, "list etcd users", s.client.UserList)
	if err != nil {
		return nil, err
	}
	roles, err := call(ctx, s, "list etcd roles", s.client.RoleList)
	if err != nil {
		return nil, err
	}
	found := map[Keyspace]bool{}
	for _, name := range slices.Concat(users.Users, roles.Roles) {
		if k, ok := keyspaceOfUser(name); ok {
			found[k] = true
		}
	}
	if err := s.findByKeys(ctx, found); err != nil {
		return nil, err
	}
	return sortedKeyspaces(found), nil
}

// findByKeys adds the keyspaces that only keys tell of. It looks between the known ones only: a range call with a limit still makes etcd count
// the whole range, so that stepping through all keyspaces would cost keyspaces x keys.
func (s *Store) findByKeys(ctx context.Context, found map[Keyspace]bool) error {
	from := tenantRoot
	for _, k := range sortedKeyspaces(found) {
		if err := s.findInGap(ctx, from, k.Prefix(), found); err != nil {
			return err
		}
		from = k.end()
	}
	return s.findInGap(ctx, from, clientv3.GetPrefixRangeEnd(tenantRoot), found)
}

func (s *Store) findInGap(ctx context.Context, from, to string, found map[Keyspace]bool) error {
	for from < to {
		r, err := s.first(ctx, from, to, 1)
		if err != nil || len(r.Kvs) == 0 {
			return err
		}
		key := string(r.Kvs[0].Key)
		from = key + "\x00"
		if k, ok := keyspaceOfKey(key); ok {
			found[k] = true
			from = k.end()
		}
	}
	return nil
}

func sortedKeyspaces(set map[Keyspace]bool) []Keyspace {
	// By prefix, which is the order of the keys: "-" sorts before "/", so that the order of the UIDs alone is another one.
	return slices.SortedFunc(maps.Keys(set), func(a, b Keyspace) int { return strings.Compare(a.Prefix(), b.Prefix()) })
}
