package connection

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/api/rest"
	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/cli/console"
	"kqueen.io/kqueen/internal/cli/exit"
	"kqueen.io/kqueen/internal/cli/program"
)

// What reaches an installation without a file, as in CI.
const (
	ServerVariable = "KQUEEN_SERVER"
	TokenVariable  = "KQUEEN_TOKEN"
	// CaVariable names a file of certificates in PEM.
	CaVariable = "KQUEEN_CA"
)

const localScheme = "unix://"

// API is the way to an installation's REST API.
type API struct {
	*client.Client
	Context

	// DataDir is that of the installation on this machine, whose owner calls; empty for one elsewhere.
	DataDir string
}

// Elsewhere says whether a command is for an installation that the user has signed in to, and not for the one of this
// machine as its owner: what was said on the command line comes first, then what the environment says, then the current
// context. Contexts that cannot be read are an error: they may name an installation elsewhere, and what is meant for that
// one must not be done here.
func (e *Env) Elsewhere() (bool, error) {
	g := e.Flags
	switch {
	case g.dataDir != "" && g.Context != "":
		return false, exit.Fail(exit.Usage, "--context cannot be used with --data-dir")
	case g.dataDir != "":
		return false, nil
	case g.Context != "":
		return true, nil
	case os.Getenv(DataDirVariable) != "":
		return false, nil
	case os.Getenv(ServerVariable) != "":
		return true, nil
	}
	path, err := ContextsFile()
	if err != nil {
		return false, nil //nolint:nilerr // a user without a home has signed in nowhere
	}
	known, err := ReadContexts(path)
	if err != nil {
		return false, fmt.Errorf("%w\nthe installation of this machine is named with --data-dir", err)
	}
	return known.Current != "", nil
}

// serverOfEnvironment is the installation that the environment names, unless the command line names another.
func (e *Env) serverOfEnvironment() string {
	if e.Flags.Context != "" {
		return ""
	}
	return os.Getenv(ServerVariable)
}

// WhereTo returns the installation that is meant, and whether it is one of the contexts. With nothing signed in its token is
// empty.
func (e *Env) WhereTo() (Context, bool, error) {
	if server := e.serverOfEnvironment(); server != "" {
		k := Context{Server: server, Token: os.Getenv(TokenVariable)}
		if path := os.Getenv(CaVariable); path != "" {
			data, err := os.ReadFile(path)
			if err != nil {
				return k, false, fmt.Errorf("%s: %w", CaVariable, err)
			}
			k.Authority = string(data)
		}
		return k, false, nil
	}
	path, err := ContextsFile()
	if err != nil {
		return Context{}, false, err
	}
	known, err := ReadContexts(path)
	if err != nil {
		return Context{}, false, err
	}
	name := e.Flags.Context
	if name == "" {
		name = known.Current
	}
	if name == "" {
		return Context{}, false, exit.Fail(exit.Denied, "you are not signed in anywhere; sign in with: kqueen login https://SERVER:8443")
	}
	found := known.Find(name)
	if found == nil {
		return Context{}, false, exit.Fail(exit.NotFound, "context %q not found; see: kqueen context list", name)
	}
	return *found, true, nil
}

// API opens the way to the REST API of the installation that is meant: the owner of the machine calls it on the socket in
// the data directory and needs no session, every other user as who is signed in. No call has been made yet.
func (e *Env) API() (*API, error) {
	elsewhere, err := e.Elsewhere()
	if err != nil {
		return nil, err
	}
	if elsewhere {
		return e.Session()
	}
	return e.Local()
}

// Local opens the way of the owner of the machine to the installation in the data directory. No call has been made yet.
func (e *Env) Local() (*API, error) {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, rest.LocalSocket)
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, e.absent()
	}
	if err != nil {
		return nil, fmt.Errorf("look for KQueen: %w", err)
	}
	k := Context{Server: localScheme + path}
	c, err := e.Call(k)
	if err != nil {
		return nil, err
	}
	return &API{Client: c, Context: k, DataDir: dir}, nil
}

// absent says what to do about a data directory in which nothing serves.
func (e *Env) absent() error {
	dir, err := e.dataDir() // as the user wrote it
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, AdminKubeconfig)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("KQueen is not set up in %s; start it with: kqueen up --data-dir %s\n"+
			"or sign in to one elsewhere with: kqueen login https://SERVER:8443", dir, console.ShellQuote(dir))
	}
	return exit.Fail(exit.Failed, "%s", e.NotRunning(dir))
}

// Address is where others reach the installation, for hints. The local socket does not know that.
func (a *API) Address() string {
	if a.DataDir != "" {
		return "https://SERVER:8443"
	}
	return a.Server
}

// Session opens the way to the installation that is meant, as who is signed in there: what is about a user's own account
// is not for the owner of the machine, who has none. No call has been made yet.
func (e *Env) Session() (*API, error) {
	k, stored, err := e.WhereTo()
	if err != nil {
		return nil, err
	}
	if k.Token == "" {
		if !stored {
			return nil, exit.Fail(exit.Denied, "%s is set, and %s is not: set it to an API token", ServerVariable, TokenVariable)
		}
		return nil, exit.Fail(exit.Denied, "you are not signed in to %s; sign in with: kqueen login --context %s", k.Server, k.Name)
	}
	c, err := e.Call(k)
	if err != nil {
		return nil, err
	}
	return &API{Client: c, Context: k}, nil
}

// Call returns a client of an installation, with the token, if there is one.
func (e *Env) Call(k Context) (*client.Client, error) {
	e.Server, e.contextOrganization = k.Server, k.Organization
	c, err := client.New(client.Config{
		Connection: client.Connection{Server: k.Server, CA: []byte(k.Authority)},
		Token:      func(context.Context) (string, error) { return k.Token, nil },
		UserAgent:  "kqueen/" + program.Version(),
	})
	if err != nil {
		return nil, exit.Fail(exit.Usage, "%w", err)
	}
	return c, nil
}

// CompleteContexts completes names of contexts, at most so many (-1 for any number).
func CompleteContexts(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		path, err := ContextsFile()
		if err != nil || most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		known, _ := ReadContexts(path) // a completion cannot show errors
		var found []string
		for _, k := range known.Contexts {
			found = append(found, k.Name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
