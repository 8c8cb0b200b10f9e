package clusteraccess

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/cli/command"
	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

const (
	// minCredentialLife and maxCredentialLife are what the API takes.
	minCredentialLife = 10 * time.Minute
	maxCredentialLife = 24 * time.Hour
	// CredentialSpare is how long before it expires a credential is not used any more: the call that it is for, and
	// clocks that differ, take time.
	CredentialSpare = 2 * time.Minute
	// refreshPatience is how long a command waits while another one gets the same credential.
	refreshPatience = time.Minute
)

// Accesses are the roles in clusters.
var Accesses = []string{v1alpha1.AccessView, v1alpha1.AccessEdit, v1alpha1.AccessClusterAdmin}

// Wanted is what the user wants of a cluster.
type Wanted struct {
	access   string
	Lifetime time.Duration
	// UID is that of the cluster, so that no credential of one that had its name before is used; empty for any.
	UID string
}

// Register adds the flags that say it.
func (w *Wanted) Register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.access, "access", "", "role in the cluster: view, edit or cluster-admin (default the highest that you may have)")
	cmd.Flags().DurationVar(&w.Lifetime, "lifetime", 0, "lifetime of a credential, from 10m to 24h (default 1h)")
	_ = cmd.RegisterFlagCompletionFunc("access", command.OneOf(Accesses...))
	_ = cmd.RegisterFlagCompletionFunc("lifetime", command.NoCompletion)
}

// Check refuses what the API would refuse.
func (w *Wanted) Check(cmd *cobra.Command) error {
	if w.access != "" && !slices.Contains(Accesses, w.access) {
		return exit.UsageError(cmd, "--access: %q: must be view, edit or cluster-admin", w.access)
	}
	if w.Lifetime != 0 && (w.Lifetime < minCredentialLife || w.Lifetime > maxCredentialLife) {
		return exit.UsageError(cmd, "--lifetime: %s: must be from 10m to 24h", w.Lifetime)
	}
	return nil
}

// Request is what the API is asked for.
func (w *Wanted) Request() rest.CredentialRequest {
	return rest.CredentialRequest{Access: w.access, LifetimeSeconds: int(w.Lifetime / time.Second), UID: w.UID}
}

// Credential returns a credential that is good for a while: the one that is kept, or a new one. Of several commands that
// want the same at once, one asks and the others wait for it.
func Credential(ctx context.Context, e *connection.Env, d *connection.API, cluster string, w *Wanted) (*rest.ClusterCredential, error) {
	organization := e.Organization()
	path, err := credentialFile(d.Context, organization, cluster, w)
	if err != nil {
		return nil, err
	}
	if kept := readCredential(path, time.Now()); kept != nil {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("create the folder of the credentials: %w", err)
	}
	unlock, err := connection.LockFile(ctx, path+".lock", refreshPatience)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if kept := readCredential(path, time.Now()); kept != nil {
		return kept, nil
	}
	got, err := d.IssueCredential(ctx, organization, cluster, w.Request())
	if err == nil && got.Token == "" {
		err = errors.New("the server returned none")
	}
	if err != nil {
		return nil, fmt.Errorf("get a credential for cluster %s of organization %s: %w", cluster, organization, err)
	}
	data, err := json.Marshal(got)
	if err != nil {
		return nil, fmt.Errorf("encode the credential: %w", err)
	}
	return got, atomicfile.Write(path, data, 0o600)
}

// readCredential returns what is kept, when it is whole and good for a while. Anything else is as if it were not there.
func readCredential(path string, now time.Time) *rest.ClusterCredential {
	data, err := os.ReadFile(path)
	kept := &rest.ClusterCredential{}
	if err != nil || json.Unmarshal(data, kept) != nil || kept.Token == "" || kept.Expires.Sub(now) <= CredentialSpare {
		return nil
	}
	return kept
}

// credentialFolder is where the credentials are kept that were got by a context.
func credentialFolder(contextName string) (string, error) {
	dir := os.Getenv("XDG_CACHE_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("find the cache: %w; name it with XDG_CACHE_HOME", err)
		}
		dir = filepath.Join(home, ".cache")
	}
	return filepath.Join(dir, "kqueen", "credentials", contextName), nil
}

// credentialFile is where a credential is kept. Its name tells nothing, and is another one for every other user: what
// one session got is not for the next one.
func credentialFile(k connection.Context, organization, cluster string, w *Wanted) (string, error) {
	name := k.Name
	if name == "" {
		name = "_environment" // no context is called so
	}
	dir, err := credentialFolder(name)
	if err != nil {
		return "", err
	}
	key, err := json.Marshal([]string{k.Server, k.Authority, k.Token, organization, cluster, w.UID, w.access, w.Lifetime.String()})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(key)
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json"), nil
}

// ForgetCredentials removes the credentials that were got by a context.
func ForgetCredentials(contextName string) error {
	dir, err := credentialFolder(contextName)
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the credentials for clusters: %w", err)
	}
	return nil
}
