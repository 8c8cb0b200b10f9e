package clusteraccess

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/cli/connection"
)

// markName is the extension of a context that says which cluster it is of. Contexts without it are none of ours.
const markName = "kqueen.io"

// Entry is a cluster in the kubeconfig of a user, or, where Cluster is empty, an organization: the Kubernetes API of the installation.
type Entry struct {
	// Installation tells installations apart: the way by which the user reaches one.
	Installation string `json:"installation"`
	Organization string `json:"organization"`
	Cluster      string `json:"cluster"`
	// short is how the installation is called in the name of the context.
	short string
}

// NewEntry returns the entry of a cluster.
func NewEntry(d *connection.API, organization, cluster string) Entry {
	e := Entry{Organization: organization, Cluster: cluster}
	switch {
	case d.DataDir != "":
		e.Installation, e.short = LocalInstallation(d.DataDir)
	case d.Name != "":
		e.Installation, e.short = InstallationOf(d.Name), d.Name
	default:
		e.Installation, e.short = "server:"+d.Server, d.Server
		if at, err := url.Parse(d.Server); err == nil && at.Host != "" {
			e.short = at.Host
		}
	}
	return e
}

// InstallationOf is the installation of a context that the user has signed in to.
func InstallationOf(contextName string) string { return "context:" + contextName }

// LocalInstallation is the one in a data directory of this machine, and how it is called in names of contexts. Homes may be
// shared by machines.
func LocalInstallation(dataDir string) (installation, short string) {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "localhost"
	}
	short = host
	if dataDir != "/var/lib/kqueen" && !strings.HasSuffix(dataDir, "/.local/share/kqueen") {
		sum := sha256.Sum256([]byte(dataDir))
		short += "-" + hex.EncodeToString(sum[:3])
	}
	return "data-dir:" + host + ":" + dataDir, short
}

// Name of the context, and of its cluster and user: ORGANIZATION.CLUSTER@INSTALLATION, and ORGANIZATION@INSTALLATION for an organization.
// The name of an organization has no dot, so that no two of an installation share one.
func (e Entry) Name() string {
	if e.Cluster == "" {
		return e.Organization + "@" + e.short
	}
	return e.Organization + "." + e.Cluster + "@" + e.short
}

// String says which one it is, as the user calls it.
func (e Entry) String() string {
	if e.Cluster == "" {
		return "organization " + e.Organization
	}
	return "cluster " + e.Cluster
}

// Mark marks a context as that of the cluster.
func (e Entry) Mark(c *clientcmdapi.Context) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("mark the context: %w", err)
	}
	if c.Extensions == nil {
		c.Extensions = map[string]runtime.Object{}
	}
	c.Extensions[markName] = &runtime.Unknown{Raw: data, ContentType: runtime.ContentTypeJSON}
	return nil
}

// CheckFree refuses to take a context that has the name of the entry and is another one's.
func (e Entry) CheckFree(mine *clientcmdapi.Config) error {
	old := mine.Contexts[e.Name()]
	if old == nil {
		return nil
	}
	if found, ok := entryOf(old); ok && found.Installation == e.Installation {
		return nil
	}
	return fmt.Errorf("it has a context %q that is not of this installation; give that one another name: kubectl config rename-context %s NEW",
		e.Name(), e.Name())
}

// entryOf reads the mark of a context.
func entryOf(c *clientcmdapi.Context) (Entry, bool) {
	unknown, ok := c.Extensions[markName].(*runtime.Unknown)
	var e Entry
	if !ok || json.Unmarshal(unknown.Raw, &e) != nil || e.Installation == "" {
		return Entry{}, false
	}
	return e, true
}

// Forget removes from a kubeconfig the contexts of clusters that are gone, with their clusters and users where no other context
// has them, and returns the names. Contexts that kqueen did not make stay.
func Forget(from clientcmd.ConfigAccess, gone func(Entry) bool) ([]string, error) {
	config, err := from.GetStartingConfig()
	if err != nil {
		return nil, fmt.Errorf("read your kubeconfig: %w", err)
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(config.Contexts)) {
		if e, ok := entryOf(config.Contexts[name]); ok && gone(e) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	for _, name := range names {
		was := config.Contexts[name]
		delete(config.Contexts, name)
		used := func(is func(*clientcmdapi.Context) bool) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(config.Contexts)), is)
		}
		if !used(func(c *clientcmdapi.Context) bool { return c.Cluster == was.Cluster }) {
			delete(config.Clusters, was.Cluster)
		}
		if !used(func(c *clientcmdapi.Context) bool { return c.AuthInfo == was.AuthInfo }) {
			delete(config.AuthInfos, was.AuthInfo)
		}
		if config.CurrentContext == name {
			config.CurrentContext = ""
		}
	}
	if err := clientcmd.ModifyConfig(from, *config, true); err != nil {
		return nil, fmt.Errorf("write your kubeconfig: %w", err)
	}
	return names, nil
}

// ForgetHere is Forget for the kubeconfig of the user, and says what it removed. What cannot be done is said and no error:
// the cluster is gone all the same.
func ForgetHere(e *connection.Env, gone func(Entry) bool) {
	names, err := Forget(clientcmd.NewDefaultPathOptions(), gone)
	if err != nil {
		e.Say("warning: contexts of clusters that are gone stay in your kubeconfig: %v", err)
	}
	for _, name := range names {
		e.Say("removed the context %s from your kubeconfig", name)
	}
}
