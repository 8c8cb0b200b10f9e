package clusteraccess

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/cli/connection"
	"kqueen.io/kqueen/internal/cli/console"
)

// Target is the kubeconfig of the user into which another one goes.
type Target struct {
	// File to merge it into; empty for the one that kubectl uses.
	File string
	// SwitchOver makes what was merged the current context.
	SwitchOver bool
	// Next is what the user may give kubectl to do then.
	Next string
}

// Merge merges a kubeconfig as the context of an entry, and tells the user what it is called, and how to go back. ownProgram is as for [Merge].
func (t Target) Merge(e *connection.Env, theirs *clientcmdapi.Config, of Entry, ownProgram bool) error {
	options := clientcmd.NewDefaultPathOptions()
	if t.File != "" {
		options.LoadingRules.ExplicitPath = t.File
	}
	mine, err := options.GetStartingConfig()
	if err != nil {
		return fmt.Errorf("merge the kubeconfig of %s: %w", of, err)
	}
	before, entry := mine.CurrentContext, of.Name()
	if err := Merge(options, theirs, of, t.SwitchOver, ownProgram); err != nil {
		return fmt.Errorf("merge the kubeconfig of %s: %w", of, err)
	}
	if !t.SwitchOver {
		e.Say("merged %s as the context %s", of, entry)
		e.Say("next: kubectl --context %s %s", console.ShellQuote(entry), t.Next)
		return nil
	}
	e.Say("connected to %s: the current context in %s is %s", of, options.GetDefaultFilename(), entry)
	if before != "" && before != entry {
		e.Say("go back with: kubectl config use-context %s", console.ShellQuote(before))
	}
	e.Say("next: kubectl %s", t.Next)
	return nil
}

// Merge puts the cluster, user and context that are current in one kubeconfig into another, all
// under the name of the entry. The entry is replaced where it is there already. ownProgram says that the program in it, by which its
// user logs in, was put there by ourselves.
func Merge(into clientcmd.ConfigAccess, theirs *clientcmdapi.Config, of Entry, switchOver, ownProgram bool) error {
	current := theirs.Contexts[theirs.CurrentContext]
	if current == nil {
		return fmt.Errorf("it has no current context")
	}
	cluster, user := theirs.Clusters[current.Cluster], theirs.AuthInfos[current.AuthInfo]
	if cluster == nil || user == nil {
		return fmt.Errorf("its context %q names a cluster or user that it does not have", theirs.CurrentContext)
	}
	if !ownProgram {
		if err := CheckHarmless(cluster, user); err != nil {
			return err
		}
	}
	mine, err := into.GetStartingConfig()
	if err != nil {
		return err
	}
	if err := of.CheckFree(mine); err != nil {
		return err
	}
	entry := of.Name()
	way := &clientcmdapi.Context{Cluster: entry, AuthInfo: entry, Namespace: current.Namespace}
	if err := of.Mark(way); err != nil {
		return err
	}
	stayInFile(mine, entry, cluster, user, way)
	mine.Clusters[entry], mine.AuthInfos[entry], mine.Contexts[entry] = cluster, user, way
	if switchOver {
		mine.CurrentContext = entry
	}
	return clientcmd.ModifyConfig(into, *mine, true)
}

// stayInFile makes what replaces an entry be written to the file that the entry is in. KUBECONFIG may list
// several files, and one that comes first would hide the others.
func stayInFile(mine *clientcmdapi.Config, entry string, cluster *clientcmdapi.Cluster, user *clientcmdapi.AuthInfo, way *clientcmdapi.Context) {
	cluster.LocationOfOrigin, user.LocationOfOrigin = "", ""
	if old := mine.Clusters[entry]; old != nil {
		cluster.LocationOfOrigin = old.LocationOfOrigin
	}
	if old := mine.AuthInfos[entry]; old != nil {
		user.LocationOfOrigin = old.LocationOfOrigin
	}
	if old := mine.Contexts[entry]; old != nil {
		way.LocationOfOrigin = old.LocationOfOrigin
	}
}
