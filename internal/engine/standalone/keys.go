//go:build linux

package standalone

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"kqueen.io/kqueen/internal/hosting/datastore"
	"kqueen.io/kqueen/internal/hosting/pki"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

// keys makes the keys of the plane, or reads those that are there. What data and users depend on is made once.
func (u *bringUp) keys(context.Context) error {
	dir := filepath.Join(u.Dir, "keys")
	for _, dir := range []string{dir, filepath.Dir(u.AuditLog)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make the folder %s: %w", filepath.Base(dir), err)
		}
	}
	alone, err := u.agree()
	if err != nil {
		return err
	}
	storeSet, err := pki.Store(pki.StoreParams{Name: "default"})
	if err != nil {
		return err
	}
	if u.storeKeys, err = pki.IssueFile(filepath.Join(dir, storeKeysFile), storeSet, nil, u.Trust); err != nil {
		return fmt.Errorf("keys of the data store: %w", err)
	}
	signer := u.storeKeys
	if alone {
		own, err := pki.Store(pki.StoreParams{Name: "admin"})
		if err != nil {
			return err
		}
		if u.adminStoreKeys, err = pki.IssueFile(filepath.Join(dir, adminStoreKeysFile), own, nil, u.Trust); err != nil {
			return fmt.Errorf("keys of the admin plane's data store: %w", err)
		}
		signer = u.adminStoreKeys
	}
	adminSet, err := pki.ControlPlane(pki.ControlPlaneParams{
		UID:              WorkloadAdmin,
		DNSDomain:        adminNetwork.DNSDomain,
		ServiceCIDR:      adminNetwork.ServiceCIDR,
		SNIHost:          u.serverName(),
		AdvertiseAddress: u.AdvertiseAddress,
		StoreAuthority:   storeAuthority,
		StoreUser:        datastore.AdminKeyspace().User(),
	})
	if err != nil {
		return err
	}
	adminSet.Leaves = append(adminSet.Leaves, pki.Leaf{
		Name: ownLeaf, Authority: "ca", CommonName: ownUser, Organizations: []string{"system:masters"}, Usage: pki.Client, Lifetime: ownLife,
	})
	if u.adminKeys, err = pki.IssueFile(filepath.Join(dir, adminKeysFile), adminSet, signer.Signer("ca", storeAuthority), u.Trust); err != nil {
		return fmt.Errorf("keys of the admin plane: %w", err)
	}
	if u.webhookKeys, err = u.replaceable("webhooks", filepath.Join(dir, "webhooks.json"), webhookSet()); err != nil {
		return fmt.Errorf("keys of the API server to webhooks: %w", err)
	}
	if u.encryptionKey, err = pki.SecretKey(filepath.Join(dir, encryptionKeyFile), u.Trust); err != nil {
		return fmt.Errorf("key that encrypts Secrets of the admin plane: %w", err)
	}
	return nil
}

// Files of keys without which the data of the stores is of no use.
const (
	storeKeysFile      = "store.json"
	adminStoreKeysFile = "admin-store.json"
	adminKeysFile      = "admin.json"
	encryptionKeyFile  = "encryption.key"
)

// agree refuses to begin with new keys where a store has data already, also in an installation of an earlier version, which
// noted no fingerprints. It returns whether the admin plane has an etcd of its own.
func (u *bringUp) agree() (bool, error) {
	data, dataErr := u.has(adminStoreFolder, member)
	shared, sharedErr := u.has(storeFolder, member)
	keys, keysErr := u.has("keys", adminStoreKeysFile)
	if err := errors.Join(dataErr, sharedErr, keysErr); err != nil {
		return false, fmt.Errorf("look for the data stores: %w", err)
	}
	for _, needs := range []struct {
		file string
		data bool
	}{{adminStoreKeysFile, data}, {storeKeysFile, shared}, {adminKeysFile, data || shared}, {encryptionKeyFile, data || shared}} {
		there, err := u.has("keys", needs.file)
		if err != nil {
			return false, fmt.Errorf("look for %s: %w", needs.file, err)
		}
		if !there && needs.data {
			return false, &atomicfile.DamagedError{
				Path: filepath.Join(u.Dir, "keys", needs.file), Problem: "is gone",
				Remedy: "no other is made, because the data of control planes could not be read any more: restore it from a backup",
			}
		}
	}
	known := len(u.Trust.Roots(adminStoreKeysFile)) > 0
	alone, lost := apart(keys || known, data, shared)
	if lost {
		return false, &atomicfile.DamagedError{
			Path: filepath.Join(u.Dir, adminStoreFolder), Problem: "has no data, and there are keys for them",
			Remedy: "the admin plane does not start empty, because it would know of no cluster: restore it from a backup",
		}
	}
	return alone, errors.Join(u.begun(adminStoreFolder, data), u.begun(storeFolder, shared))
}

// replaceable are the keys in a file of which others do as well, because no data and no user depends on them: damaged ones are
// set aside, and there are new ones.
func (u *bringUp) replaceable(part, file string, set pki.Set) (pki.Bundle, error) {
	keys, err := pki.IssueFile(file, set, nil, pki.Forgetful{})
	if _, ok := errors.AsType[*atomicfile.DamagedError](err); !ok {
		return keys, err
	}
	aside, failed := atomicfile.SetAside(file)
	if failed != nil {
		return nil, errors.Join(err, failed)
	}
	u.Problem(part, fmt.Errorf("%s was damaged, and is %s now; there are new keys", file, aside))
	return pki.IssueFile(file, set, nil, pki.Forgetful{})
}

// webhookSet is by what the admin plane's API server is known to webhooks. Its authority signs nothing else, and no API
// server takes what it has signed.
func webhookSet() pki.Set {
	return pki.Set{
		Authorities: []pki.Authority{{Name: "ca", CommonName: "kqueen-webhook-callers", Lifetime: webhookAuthorityLife}},
		Leaves:      []pki.Leaf{{Name: webhookLeaf, Authority: "ca", CommonName: webhookCaller, Usage: pki.Client, Lifetime: ownLife}},
	}
}
