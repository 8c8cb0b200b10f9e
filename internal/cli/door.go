package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"kqueen.io/kqueen/client"
)

// What reaches an installation without a file, as in CI.
const (
	serverVariable = "KQUEEN_SERVER"
	tokenVariable  = "KQUEEN_TOKEN"
	// caVariable names a file of certificates in PEM.
	caVariable = "KQUEEN_CA"
)

// door is the way to an installation's REST API.
type door struct {
	*client.Client
	knownAs

	// stored says that it comes from the file of contexts, and its name is one there.
	stored bool
}

// throughDoor says whether a command that knows both ways goes through a door: what was said on the command line comes
// first, then what the environment says, then the current context. Everything else is the way of the machine's owner.
func (e *env) throughDoor() (bool, error) {
	g := e.globals
	owner := g.dataDir != "" || g.kubeconfig != "" || g.kubeContext != ""
	switch {
	case owner && g.context != "":
		return false, fail(codeUsage, "--context is another way than --data-dir, --kubeconfig and --kube-context; choose one")
	case owner:
		return false, nil
	case g.context != "":
		return true, nil
	case os.Getenv(dataDirVariable) != "":
		return false, nil
	}
	return e.contextInUse() != "", nil
}

// contextInUse says by which name an installation would be reached through its door; empty when there is none.
func (e *env) contextInUse() string {
	if e.globals.context != "" {
		return e.globals.context
	}
	if server := os.Getenv(serverVariable); server != "" {
		return server
	}
	path, err := contextsFile()
	if err != nil {
		return ""
	}
	known, err := readContexts(path)
	if err != nil {
		return ""
	}
	return known.Current
}

// whereTo returns the installation that is meant. With nothing signed in its token is empty.
func (e *env) whereTo() (knownAs, bool, error) {
	if server := os.Getenv(serverVariable); server != "" && e.globals.context == "" {
		k := knownAs{Server: server, Token: os.Getenv(tokenVariable)}
		if path := os.Getenv(caVariable); path != "" {
			data, err := os.ReadFile(path)
			if err != nil {
				return k, false, fmt.Errorf("%s: %w", caVariable, err)
			}
			k.Authority = string(data)
		}
		return k, false, nil
	}
	path, err := contextsFile()
	if err != nil {
		return knownAs{}, false, err
	}
	known, err := readContexts(path)
	if err != nil {
		return knownAs{}, false, err
	}
	name := e.globals.context
	if name == "" {
		name = known.Current
	}
	if name == "" {
		return knownAs{}, false, fail(codeDenied, "you are not signed in anywhere; sign in with: kqueen login https://SERVER:8443")
	}
	found := known.find(name)
	if found == nil {
		return knownAs{}, false, fail(codeNotFound, "there is no context %q; see: kqueen context list", name)
	}
	return *found, true, nil
}

// door opens the way to the installation that is meant, as who is signed in there. No call has been made yet.
func (e *env) door() (*door, error) {
	k, stored, err := e.whereTo()
	if err != nil {
		return nil, err
	}
	if k.Token == "" {
		if !stored {
			return nil, fail(codeDenied, "%s is set, and %s is not: set it to an API token", serverVariable, tokenVariable)
		}
		return nil, fail(codeDenied, "you are not signed in to %s; sign in with: kqueen login --context %s", k.Server, k.Name)
	}
	c, err := e.call(k)
	if err != nil {
		return nil, err
	}
	return &door{Client: c, knownAs: k, stored: stored}, nil
}

// call returns a client of an installation, with the token, if there is one.
func (e *env) call(k knownAs) (*client.Client, error) {
	e.through, e.organizationThrough = k.Server, k.Organization
	c, err := client.New(client.Config{
		Connection: client.Connection{Server: k.Server, CA: []byte(k.Authority)},
		Token:      func(context.Context) (string, error) { return k.Token, nil },
		UserAgent:  "kqueen/" + programVersion(),
	})
	if err != nil {
		return nil, fail(codeUsage, "%w", err)
	}
	return c, nil
}

// completeContexts completes names of contexts, at most so many (-1 for any number).
func completeContexts(most int) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		path, err := contextsFile()
		if err != nil || most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		known, _ := readContexts(path) // a completion cannot show errors
		var found []string
		for _, k := range known.Contexts {
			found = append(found, k.Name)
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}
