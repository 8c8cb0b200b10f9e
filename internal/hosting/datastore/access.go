package datastore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/authpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const root = "root" // etcd's fixed name of both the user and the role that may do everything

// ErrUnguarded tells that etcd's access control is off, so that a keyspace would be open to every client. Call [Store.Secure] first.
var ErrUnguarded = errors.New("etcd's access control is off")

// Secure turns etcd's access control on, with a root user that has no password: only the certificate named "root" gets in.
// It is idempotent and may have died between any two of its steps.
func (s *Store) Secure(ctx context.Context) error {
	if control, err := s.accessControl(ctx); err != nil || control.Enabled {
		return err
	}
	if err := s.addUser(ctx, root); err != nil {
		return err
	}
	if err := s.addRole(ctx, root); err != nil {
		return err
	}
	if err := s.grantRole(ctx, root, root); err != nil {
		return err
	}
	_, err := call(ctx, s, "turn on etcd's access control", s.client.AuthEnable)
	return err
}

// Access is what a tenant may do in its keyspace.
type Access authpb.Permission_Type

// ReadWrite is what tenants usually have. ReadOnly takes the right to write: once Ensure has returned, no write of the tenant is done any
// more, not even one that was under way, because etcd asks for the grant when it applies a write.
const (
	ReadWrite = Access(authpb.READWRITE)
	ReadOnly  = Access(authpb.READ)
)

// granted is what the user of a keyspace was found to have, at a revision of etcd's access control.
type granted struct {
	may      Access
	revision uint64 // of all users and roles: each change of one makes it greater
}

// Ensure makes the keyspace usable by its tenant and by no other: a role with one grant of that access on exactly the keyspace, a user
// without password that has exactly this role. It is idempotent, repairs what it finds (a wider grant, a further role), and may have died
// between any two of its steps. It returns [ErrUnguarded] when access control is off.
//
// It costs one read of etcd's access control where nothing was changed in that since this Store found the keyspace good, and three where
// something was. Each is a proposal, which etcd writes to its log and syncs as if it were a write (EtcdServer.AuthStatus, UserGet and
// RoleGet), and is felt by all tenants.
//
// It cannot see whether an existing user has a password: etcd does not tell. Only root could have given it one.
func (s *Store) Ensure(ctx context.Context, k Keyspace, may Access) error {
	if err := k.check(); err != nil {
		return err
	}
	control, err := s.accessControl(ctx)
	if err != nil {
		return err
	}
	if !control.Enabled {
		return fmt.Errorf("ensure keyspace %s: %w", k.uid, ErrUnguarded)
	}
	// The revision is the one before the reads: what this call changes itself is read once more by the next one.
	now := granted{may, control.AuthRevision}
	if found, _ := s.found.Load(k); found == now {
		return nil
	}
	// The role comes first, so that a user never holds a role that is wider than it should be.
	if err := s.ensureRole(ctx, k, may); err != nil {
		return err
	}
	if err := s.ensureUser(ctx, k); err != nil {
		return err
	}
	s.found.Store(k, now)
	return nil
}

func (s *Store) accessControl(ctx context.Context) (*clientv3.AuthStatusResponse, error) {
	return call(ctx, s, "read etcd's access control", s.client.AuthStatus)
}

func (s *Store) ensureRole(ctx context.Context, k Keyspace, may Access) error {
	perms, found, err := s.grants(ctx, k.User())
	if err != nil {
		return err
	}
	if !found {
		if err := s.addRole(ctx, k.User()); err != nil {
			return err
		}
	}
	p := planGrants(k, perms, may)
	if p.empty() {
		return nil
	}
	if p.dropOwn {
		if err := s.revokeGrant(ctx, k.User(), k.Prefix(), k.end()); err != nil {
			return err
		}
	}
	// Granted before the foreign ones go, so that repairing a wider grant does not shut out a running tenant.
	if p.addOwn {
		if err := s.grant(ctx, k, may); err != nil {
			return err
		}
	}
	for _, f := range p.foreign {
		if err := s.revokeGrant(ctx, k.User(), string(f.Key), string(f.RangeEnd)); err != nil {
			return err
		}
	}
	perms, _, err = s.grants(ctx, k.User())
	if err != nil {
		return err
	}
	if !planGrants(k, perms, may).empty() {
		return fmt.Errorf("ensure role %s: its grants changed while they were being repaired", k.User())
	}
	return nil
}

// grantPlan is what it takes to turn the grants of a role into the one it should have. The order is: dropOwn, addOwn, foreign.
type grantPlan struct {
	dropOwn bool // the right range more than once, or beside another one that begins with the same key: etcd updates the first it finds
	addOwn  bool
	foreign []*authpb.Permission
}

func (p grantPlan) empty() bool { return !p.dropOwn && !p.addOwn && len(p.foreign) == 0 }

func planGrants(k Keyspace, perms []*authpb.Permission, may Access) grantPlan {
	var p grantPlan
	var own []*authpb.Permission
	sameKey := 0
	for _, g := range perms {
		if string(g.Key) == k.Prefix() {
			sameKey++
		}
		if string(g.Key) == k.Prefix() && string(g.RangeEnd) == k.end() {
			own = append(own, g)
			continue
		}
		p.foreign = append(p.foreign, g)
	}
	if len(own) == 1 && own[0].PermType == authpb.Permission_Type(may) {
		return p
	}
	p.dropOwn, p.addOwn = len(own) > 0 && sameKey > 1, true
	return p
}

func (s *Store) ensureUser(ctx context.Context, k Keyspace) error {
	roles, found, err := s.roles(ctx, k.User())
	if err != nil {
		return err
	}
	if !found {
		if err := s.addUser(ctx, k.User()); err != nil {
			return err
		}
	}
	for _, r := range roles {
		if r == k.User() {
			continue
		}
		if err := s.revokeRole(ctx, k.User(), r); err != nil {
			return err
		}
	}
	if slices.Contains(roles, k.User()) {
		return nil
	}
	return s.grantRole(ctx, k.User(), k.User())
}

// The steps below are idempotent each: what is there already, or gone already, is no error.

func (s *Store) addUser(ctx context.Context, name string) error {
	_, err := call(ctx, s, "add etcd user "+name, func(ctx context.Context) (*clientv3.AuthUserAddResponse, error) {
		return s.client.UserAddWithOptions(ctx, name, "", &clientv3.UserAddOptions{NoPassword: true})
	})
	return unless(err, rpctypes.ErrUserAlreadyExist)
}

func (s *Store) addRole(ctx context.Context, name string) error {
	_, err := call(ctx, s, "add etcd role "+name, func(ctx context.Context) (*clientv3.AuthRoleAddResponse, error) {
		return s.client.RoleAdd(ctx, name)
	})
	return unless(err, rpctypes.ErrRoleAlreadyExist)
}

func (s *Store) grantRole(ctx context.Context, user, role string) error {
	_, err := call(ctx, s, "grant etcd role "+role, func(ctx context.Context) (*clientv3.AuthUserGrantRoleResponse, error) {
		return s.client.UserGrantRole(ctx, user, role)
	})
	return err
}

func (s *Store) revokeRole(ctx context.Context, user, role string) error {
	_, err := call(ctx, s, "revoke etcd role "+role+" from "+user, func(ctx context.Context) (*clientv3.AuthUserRevokeRoleResponse, error) {
		return s.client.UserRevokeRole(ctx, user, role)
	})
	return unless(err, rpctypes.ErrRoleNotGranted)
}

func (s *Store) grant(ctx context.Context, k Keyspace, may Access) error {
	_, err := call(ctx, s, "grant "+k.Prefix(), func(ctx context.Context) (*clientv3.AuthRoleGrantPermissionResponse, error) {
		return s.client.RoleGrantPermission(ctx, k.User(), k.Prefix(), k.end(), clientv3.PermissionType(may))
	})
	return err
}

func (s *Store) revokeGrant(ctx context.Context, role, key, end string) error {
	_, err := call(ctx, s, fmt.Sprintf("revoke grant on %q from etcd role %s", key, role), func(ctx context.Context) (*clientv3.AuthRoleRevokePermissionResponse, error) {
		return s.client.RoleRevokePermission(ctx, role, key, end)
	})
	return unless(err, rpctypes.ErrPermissionNotGranted)
}

func (s *Store) grants(ctx context.Context, role string) (perms []*authpb.Permission, found bool, err error) {
	r, err := call(ctx, s, "read etcd role "+role, func(ctx context.Context) (*clientv3.AuthRoleGetResponse, error) {
		return s.client.RoleGet(ctx, role)
	})
	if errors.Is(err, rpctypes.ErrRoleNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return r.Perm, true, nil
}

func (s *Store) roles(ctx context.Context, user string) (roles []string, found bool, err error) {
	r, err := call(ctx, s, "read etcd user "+user, func(ctx context.Context) (*clientv3.AuthUserGetResponse, error) {
		return s.client.UserGet(ctx, user)
	})
	if errors.Is(err, rpctypes.ErrUserNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return r.Roles, true, nil
}

// unless drops the error that says the step was done before.
func unless(err, done error) error {
	if errors.Is(err, done) {
		return nil
	}
	return err
}
