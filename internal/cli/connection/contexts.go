package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"sigs.k8s.io/yaml"

	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/platform/atomicfile"
)

const (
	// ConfigVariable is the environment variable that names the file of contexts.
	ConfigVariable = "KQUEEN_CONFIG"
	// maxConfig is how large the file of contexts may be, in bytes.
	maxConfig = 1 << 20
	// lockPatience is how long a command waits for another one that changes the same file.
	lockPatience = 10 * time.Second
	lockInterval = 20 * time.Millisecond
)

// ContextPattern is what a context may be called. The server writes names into kubeconfigs, and has the same.
var ContextPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// Contexts are the installations that a user knows, as they are in a file.
type Contexts struct {
	// Current is the name of the one that is used when none is named.
	Current  string    `json:"currentContext,omitempty"`
	Contexts []Context `json:"contexts,omitempty"`
}

// Context is one installation, and who the user is there.
type Context struct {
	Name string `json:"name"`
	// Server is the URL of the API.
	Server string `json:"server"`
	// Authority is what the server's certificate comes from, in PEM; empty for what the operating system trusts.
	Authority    string `json:"authority,omitempty"`
	Organization string `json:"organization,omitempty"`
	User         string `json:"user,omitempty"`
	// Token is the session. It makes the file a secret.
	Token string `json:"token,omitempty"`
}

// ContextsFile is where contexts are kept.
func ContextsFile() (string, error) {
	if path := os.Getenv(ConfigVariable); path != "" {
		return path, nil
	}
	if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kqueen", "config.yaml"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the file of contexts: %w; name it with %s", err, ConfigVariable)
	}
	return filepath.Join(home, ".config", "kqueen", "config.yaml"), nil
}

// ReadContexts returns none when there is no file.
func ReadContexts(path string) (Contexts, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Contexts{}, nil
	}
	if err != nil {
		return Contexts{}, fmt.Errorf("read the contexts: %w", err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return Contexts{}, fmt.Errorf("read the contexts: %w", err)
	}
	known, err := decodeContexts(data)
	if err != nil {
		return Contexts{}, fmt.Errorf("read the contexts in %s: %w", path, err)
	}
	return known, nil
}

// decodeContexts reads a file of contexts. A field that it does not know is an error, because writing the file again
// would lose it.
func decodeContexts(data []byte) (Contexts, error) {
	var known Contexts
	if len(data) > maxConfig {
		return known, fmt.Errorf("it is longer than %d bytes", maxConfig)
	}
	if err := yaml.UnmarshalStrict(data, &known); err != nil {
		return Contexts{}, errors.New("it is not a file of contexts; repair it, or remove it and sign in again") // the error would show what stands there: tokens
	}
	seen := map[string]bool{}
	for i, c := range known.Contexts {
		switch {
		case !ContextPattern.MatchString(c.Name):
			return Contexts{}, fmt.Errorf("contexts[%d].name: %q: must be letters, digits, dots, dashes and underscores, at most 64", i, c.Name)
		case seen[c.Name]:
			return Contexts{}, fmt.Errorf("contexts[%d].name: %q is there twice", i, c.Name)
		case !strings.HasPrefix(c.Server, "https://"):
			return Contexts{}, fmt.Errorf("contexts[%d].server: must be a URL that begins with https://", i)
		}
		seen[c.Name] = true
	}
	return known, nil
}

// Find returns a context by its name, or nil.
func (c *Contexts) Find(name string) *Context {
	i := slices.IndexFunc(c.Contexts, func(k Context) bool { return k.Name == name })
	if i < 0 {
		return nil
	}
	return &c.Contexts[i]
}

// Put adds a context or replaces the one of that name.
func (c *Contexts) Put(k Context) {
	if old := c.Find(k.Name); old != nil {
		*old = k
		return
	}
	c.Contexts = append(c.Contexts, k)
	slices.SortFunc(c.Contexts, func(a, b Context) int { return strings.Compare(a.Name, b.Name) })
}

// ChangeContexts changes the file: no other command does meanwhile, and it is written whole or not at all.
func ChangeContexts(ctx context.Context, change func(*Contexts) error) error {
	path, err := ContextsFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("create the folder of the contexts: %w", err)
	}
	unlock, err := LockFile(ctx, path+".lock", lockPatience)
	if err != nil {
		return err
	}
	defer unlock()
	known, err := ReadContexts(path)
	if err == nil {
		err = change(&known)
	}
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(known)
	if err != nil {
		return fmt.Errorf("encode the contexts: %w", err)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	return atomicfile.Write(path, data, 0o600)
}

// LockFile waits until no other process has the file locked, and returns what lets it go. The lock ends with the process.
func LockFile(ctx context.Context, path string, patience time.Duration) (func(), error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, exit.Fail(exit.TimedOut, "another kqueen holds %s since %s", path, patience))
	defer cancel()
	lock := flock.New(path)
	locked, err := lock.TryLockContext(ctx, lockInterval)
	switch {
	case locked:
		return func() { _ = lock.Close() }, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}
