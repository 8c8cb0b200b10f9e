package connection

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/client"
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

const (
	// apiSocket is the socket in the data directory on which the owner of the machine calls the REST API.
	apiSocket   = "api.sock"
	localScheme = "unix://"
)

// API is the way to an installation's REST API.
type API struct {
	*client.Client
	Context

	// stored says that it comes from the file of contexts, and its name is one there.
	stored bool
}

// Remote says whether a command that knows both ways goes through a door: what was said on the command line comes
// first, then what the environment says, then the current context. Everything else is the way of the machine's owner.
func (e *Env) Remote() (bool, error) {
	g := e.Flags
	owner := g.dataDir != "" || g.kubeconfig != "" || g.kubeContext != ""
	switch {
	case owner && g.Context != "":
		return false, exit.Fail(exit.Usage, "--context is another way than --data-dir, --kubeconfig and --kube-context; choose one")
	case owner:
		return false, nil
	case g.Context != "":
		return true, nil
	case os.Getenv(DataDirVariable) != "":
		return false, nil
	}
	return e.ContextInUse() != "", nil
}

// ContextInUse says by which name an installation would be reached through its door; empty when there is none.
func (e *Env) ContextInUse() string {
	if e.Flags.Context != "" {
		return e.Flags.Context
	}
	if server := os.Getenv(ServerVariable); server != "" {
		return server
	}
	path, err := ContextsFile()
	if err != nil {
		return ""
	}
	known, err := ReadContexts(path)
	if err != nil {
		return ""
	}
	return known.Current
}

// WhereTo returns the installation that is meant. With nothing signed in its token is empty.
func (e *Env) WhereTo() (Context, bool, error) {
	if server := os.Getenv(ServerVariable); server != "" && e.Flags.Context == "" {
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
		return Context{}, false, exit.Fail(exit.NotFound, "there is no context %q; see: kqueen context list", name)
	}
	return *found, true, nil
}

// API opens the way to the REST API of the installation that is meant: the owner of the machine calls it on the socket in
// the data directory and needs no session, every other user as who is signed in. No call has been made yet.
func (e *Env) API() (*API, error) {
	remote, err := e.Remote()
	if err != nil {
		return nil, err
	}
	if remote || e.Flags.kubeconfig != "" || e.Flags.kubeContext != "" {
		return e.Session()
	}
	return e.local()
}

// local is the way of the owner. Without an installation in the default data directory the user is told to sign in.
func (e *Env) local() (*API, error) {
	dir, err := e.AbsoluteDataDir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, apiSocket)
	if _, err := os.Stat(path); err != nil {
		if e.Flags.dataDir == "" && os.Getenv(DataDirVariable) == "" {
			return e.Session()
		}
		if _, err := e.Config(); err != nil {
			return nil, err
		}
		return nil, exit.Fail(exit.Failed, "%s", e.NotRunning(dir))
	}
	k := Context{Server: localScheme + path}
	c, err := e.Call(k)
	if err != nil {
		return nil, err
	}
	return &API{Client: c, Context: k}, nil
}

// Address is where others reach the installation, for hints. The local socket does not know that.
func (a *API) Address() string {
	if strings.HasPrefix(a.Server, localScheme) {
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
	return &API{Client: c, Context: k, stored: stored}, nil
}

// Call returns a client of an installation, with the token, if there is one.
func (e *Env) Call(k Context) (*client.Client, error) {
	e.Through, e.organizationThrough = k.Server, k.Organization
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
