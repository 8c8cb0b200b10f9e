package host

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"kqueen.io/kqueen/client"
	"kqueen.io/kqueen/internal/app"
	"kqueen.io/kqueen/internal/cli/clusteraccess"
	"kqueen.io/kqueen/internal/cli/connection"
)

// tidyTimeout bounds how long a command that stops KQueen asks it which clusters it has.
const tidyTimeout = 5 * time.Second

// forgetGoneClusters removes from the user's kubeconfig the contexts of clusters that the installation in dir does not have
// any more. It asks the installation only when there is one to ask about; without an answer all stay.
func forgetGoneClusters(ctx context.Context, e *connection.Env, dir string) {
	has := sync.OnceValues(func() (map[[2]string]bool, error) { return clustersOf(ctx, e) })
	here, _ := clusteraccess.LocalInstallation(dir)
	clusteraccess.ForgetHere(e, func(c clusteraccess.Entry) bool {
		if c.Installation != here || c.Cluster == "" {
			return false
		}
		known, err := has()
		return err == nil && !known[[2]string{c.Organization, c.Cluster}]
	})
}

// clustersOf returns organization and name of each cluster of the installation on this machine.
func clustersOf(ctx context.Context, e *connection.Env) (map[[2]string]bool, error) {
	local := *e // errors that follow are not about this call
	d, err := local.Local()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, tidyTimeout)
	defer cancel()
	all, err := d.AllObjects(ctx, client.Collection{Kind: "Cluster"}, client.ObjectQuery{})
	if err != nil {
		return nil, err
	}
	has := map[[2]string]bool{}
	for _, o := range all.Items {
		has[[2]string{o.Organization, o.Name}] = true
	}
	return has, nil
}

// contextsHere are the contexts of the user that are of the installation in dir, by its authority. Without that or without
// contexts there are none.
func contextsHere(dir string) []string {
	authority, err := app.APIAuthority(dir)
	if err != nil {
		return nil
	}
	path, err := connection.ContextsFile()
	if err != nil {
		return nil
	}
	known, err := connection.ReadContexts(path)
	if err != nil {
		return nil
	}
	var names []string
	for _, k := range known.Contexts {
		if bytes.Contains([]byte(k.Authority), bytes.TrimSpace(authority)) {
			names = append(names, k.Name)
		}
	}
	return names
}

// forgetInstallation removes what the user's files know of an installation that is gone: the contexts by which the user was signed
// in, and those of its clusters. What cannot be done is said and no error.
func forgetInstallation(ctx context.Context, e *connection.Env, dir string, contexts []string) {
	here, _ := clusteraccess.LocalInstallation(dir)
	gone := []string{here}
	for _, name := range contexts {
		gone = append(gone, clusteraccess.InstallationOf(name))
	}
	clusteraccess.ForgetHere(e, func(c clusteraccess.Entry) bool { return slices.Contains(gone, c.Installation) })
	if len(contexts) == 0 {
		return
	}
	err := connection.ChangeContexts(ctx, func(known *connection.Contexts) error {
		known.Contexts = slices.DeleteFunc(known.Contexts, func(k connection.Context) bool { return slices.Contains(contexts, k.Name) })
		if slices.Contains(contexts, known.Current) {
			known.Current = ""
		}
		return nil
	})
	if err != nil {
		e.Say("warning: the context of the installation stays: %v", err)
		return
	}
	for _, name := range contexts {
		e.Say("removed the context %s of kqueen", name)
		if err := clusteraccess.ForgetCredentials(name); err != nil {
			e.Say("warning: %v", err)
		}
	}
}
