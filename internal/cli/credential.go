package cli

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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientauthv1 "k8s.io/client-go/pkg/apis/clientauthentication/v1"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/api/v1alpha1"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

const (
	// minCredentialLife and maxCredentialLife are what the API takes.
	minCredentialLife = 10 * time.Minute
	maxCredentialLife = 24 * time.Hour
	// credentialSpare is how long before it expires a credential is not used any more: the call that it is for, and
	// clocks that differ, take time.
	credentialSpare = 2 * time.Minute
	// refreshPatience is how long a command waits while another one gets the same credential.
	refreshPatience = time.Minute
)

// accesses are the roles in clusters.
var accesses = []string{v1alpha1.AccessView, v1alpha1.AccessEdit, v1alpha1.AccessClusterAdmin}

// wantedAccess is what somebody wants of a cluster.
type wantedAccess struct {
	access   string
	lifetime time.Duration
}

func (w *wantedAccess) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.access, "access", "", "role in the cluster: view, edit or cluster-admin (default the highest that you may have)")
	cmd.Flags().DurationVar(&w.lifetime, "lifetime", 0, "how long a credential is good, from 10m to 24h (default 1h)")
	_ = cmd.RegisterFlagCompletionFunc("access", oneOf(accesses...))
	_ = cmd.RegisterFlagCompletionFunc("lifetime", noCompletion)
}

func (w *wantedAccess) check(cmd *cobra.Command) error {
	if w.access != "" && !slices.Contains(accesses, w.access) {
		return usageError(cmd, "--access: %q: must be view, edit or cluster-admin", w.access)
	}
	if w.lifetime != 0 && (w.lifetime < minCredentialLife || w.lifetime > maxCredentialLife) {
		return usageError(cmd, "--lifetime: %s: must be from 10m to 24h", w.lifetime)
	}
	return nil
}

func (w *wantedAccess) request() rest.CredentialRequest {
	return rest.CredentialRequest{Access: w.access, LifetimeSeconds: int(w.lifetime / time.Second)}
}

// newCredentialCommand returns `cluster credential`, which kubectl calls.
func newCredentialCommand(e *env) *cobra.Command {
	w := &wantedAccess{}
	cmd := &cobra.Command{
		Use:    "credential NAME",
		Short:  "Print a short-lived credential for a cluster, for kubectl",
		Hidden: true,
		Long: `Print a short-lived credential for a cluster as an ExecCredential of
client.authentication.k8s.io/v1. kubectl calls this by itself when it uses a
kubeconfig from "kqueen cluster kubeconfig". A credential is kept in a file that
only you can read, and used until shortly before it expires.`,
		Example:           "  kqueen cluster credential demo --org blue --access view --lifetime 1h",
		Args:              names(1, 1),
		ValidArgsFunction: e.completeNames(clusterNoun, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := w.check(cmd); err != nil {
				return err
			}
			d, err := e.door()
			if err != nil {
				return err
			}
			got, err := e.credential(cmd.Context(), d, args[0], w)
			if err != nil {
				return err
			}
			return json.NewEncoder(e.stdout).Encode(execCredential(got))
		},
	}
	w.register(cmd)
	return cmd
}

// execCredential is a credential as kubectl reads it. kubectl asks again when it expires, which is before it really does.
func execCredential(c *rest.ClusterCredential) *clientauthv1.ExecCredential {
	expires := metav1.NewTime(c.Expires.Add(-credentialSpare).UTC())
	return &clientauthv1.ExecCredential{
		TypeMeta: metav1.TypeMeta{APIVersion: clientauthv1.SchemeGroupVersion.String(), Kind: "ExecCredential"},
		Status:   &clientauthv1.ExecCredentialStatus{Token: c.Token, ExpirationTimestamp: &expires},
	}
}

// credential returns a credential that is good for a while: the one that is kept, or a new one. Of several commands that
// want the same at once, one asks and the others wait for it.
func (e *env) credential(ctx context.Context, d *door, cluster string, w *wantedAccess) (*rest.ClusterCredential, error) {
	organization := e.organization()
	path, err := credentialFile(d.knownAs, organization, cluster, w)
	if err != nil {
		return nil, err
	}
	if kept := readCredential(path, time.Now()); kept != nil {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the credentials: %w", err)
	}
	unlock, err := lockFile(ctx, path+".lock", refreshPatience)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if kept := readCredential(path, time.Now()); kept != nil {
		return kept, nil
	}
	got, err := d.IssueCredential(ctx, organization, cluster, w.request())
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
	if err != nil || json.Unmarshal(data, kept) != nil || kept.Token == "" || kept.Expires.Sub(now) <= credentialSpare {
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

// credentialFile is where a credential is kept. Its name tells nothing, and is another one for everybody else: what
// somebody's session got is not for the next one.
func credentialFile(k knownAs, organization, cluster string, w *wantedAccess) (string, error) {
	name := k.Name
	if name == "" {
		name = "_environment" // no context is called so
	}
	dir, err := credentialFolder(name)
	if err != nil {
		return "", err
	}
	key, err := json.Marshal([]string{k.Server, k.Authority, k.Token, organization, cluster, w.access, w.lifetime.String()})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(key)
	return filepath.Join(dir, hex.EncodeToString(sum[:])+".json"), nil
}

// forgetCredentials removes the credentials that were got by a context.
func forgetCredentials(contextName string) error {
	dir, err := credentialFolder(contextName)
	if err == nil {
		err = os.RemoveAll(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the credentials for clusters: %w", err)
	}
	return nil
}
