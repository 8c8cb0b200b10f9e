package datastore

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// removeBatch is how many keys one call deletes: enough for speed, few enough that the other tenants' writes are not held up behind it.
const removeBatch = 500

// Remove takes the keyspace away: first its user, so that the tenant can write no more, then all keys, then its role. It is idempotent and
// may have died at any point. Afterwards there is no key, user or role of this tenant.
// Its leases are not touched (etcd does not say whose they are): they hold no key any more and expire by themselves.
// The disk space comes back with etcd's next compaction. The admin plane's keyspace is refused.
func (s *Store) Remove(ctx context.Context, k Keyspace) error {
	if err := k.check(); err != nil {
		return err
	}
	if k == AdminKeyspace() {
		return errors.New("remove keyspace: the admin plane's keyspace cannot be removed")
	}
	s.found.Delete(k)
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
		r, err := call(ctx, s, "list keys of "+k.Prefix(), func(ctx context.Context) (*clientv3.GetResponse, error) {
			return s.client.Get(ctx, k.Prefix(), clientv3.WithRange(k.end()), clientv3.WithKeysOnly(), clientv3.WithLimit(removeBatch))
		})
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
