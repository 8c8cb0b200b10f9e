// Package manifests is what an operator of a cluster applies there so that KQueen reaches it: an account with narrow rights, or an agent.
//
// It hides the names of the objects. The command line prints and applies the account, and package server/agents hands the agent out.
package manifests

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"text/template"
)

//go:embed *.yaml
var files embed.FS

const (
	// Account is the ServiceAccount by whose token KQueen comes, and the name of the namespace with KQueen's objects in a cluster.
	Account = "kqueen"
	// AgentAccount is that of the agent. Its Deployment and the Secret with its identity have the same name.
	AgentAccount = "kqueen-agent"
)

// Agent is what an agent is started with.
type Agent struct {
	Image string
	// Server is KQueen's URL, and Authority in PEM by what it is trusted.
	Server, Authority string
	// Organization and Cluster are KQueen's names of the cluster.
	Organization, Cluster string
	// Token is a one-time token.
	Token string
}

// ForAccount returns the manifests of an account that may read what the inventory shows, and act as members where these are to enter.
func ForAccount(members bool) (string, error) {
	return render(members, map[string]string{"Account": Account}, "namespace.yaml", "account.yaml", "inventory.yaml")
}

// ForAgent returns the manifests of an agent with the same rights.
func ForAgent(a Agent, members bool) (string, error) {
	values := map[string]string{
		"Account": AgentAccount, "Image": a.Image, "Server": a.Server, "Authority": a.Authority, "Organization": a.Organization, "Cluster": a.Cluster,
		"Token": a.Token,
	}
	return render(members, values, "namespace.yaml", "inventory.yaml", "agent.yaml")
}

// render writes files with values, each as one that YAML takes for a text.
func render(members bool, values map[string]string, names ...string) (string, error) {
	if members {
		names = append(names, "members.yaml")
	}
	quoted := make(map[string]string, len(values))
	for name, value := range values {
		text, err := json.Marshal(value) // YAML reads it as JSON does
		if err != nil {
			return "", err
		}
		quoted[name] = string(text)
	}
	var out bytes.Buffer
	for i, name := range names {
		t, err := template.New(name).Option("missingkey=error").ParseFS(files, name)
		if err != nil {
			return "", err
		}
		if i > 0 {
			out.WriteString("---\n")
		}
		if err := t.Execute(&out, quoted); err != nil {
			return "", fmt.Errorf("write manifest %s: %w", name, err)
		}
	}
	return out.String(), nil
}
