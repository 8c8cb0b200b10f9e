package cluster

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"kqueen.io/kqueen/internal/cli/exit"
)

// mostKubeconfig is how much is read of a kubeconfig, in bytes. Of one context the API takes less.
const mostKubeconfig = 16 << 20

// reduced is what is sent of a user's kubeconfig.
type reduced struct {
	// data is a kubeconfig with one context. It is a secret.
	data []byte
	// server and user are what the context names.
	server, user string
	// files are those whose content is in data.
	files []string
}

// withAccount is what users do whose kubeconfig runs a program.
const withAccount = `KQueen runs no program of a kubeconfig. With --service-account this command
uses it here, to create an account for KQueen in the cluster`

// reduce takes one context of a kubeconfig, with the content of the files that it names, relative to where the kubeconfig is.
func reduce(data []byte, file, contextName string) (*reduced, error) {
	if len(data) > mostKubeconfig {
		return nil, fmt.Errorf("has more than %d MiB", mostKubeconfig>>20)
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, errors.New("is not a kubeconfig") // the words of the decoder may quote a secret
	}
	if contextName == "" {
		contextName = config.CurrentContext
	}
	known := strings.Join(slices.Sorted(maps.Keys(config.Contexts)), ", ")
	chosen := config.Contexts[contextName]
	switch {
	case contextName == "":
		return nil, fmt.Errorf("has no current context; choose one of %s with --kubeconfig-context", known)
	case chosen == nil:
		return nil, fmt.Errorf("has no context %q; it has %s", contextName, known)
	}
	cluster, user := config.Clusters[chosen.Cluster], config.AuthInfos[chosen.AuthInfo]
	if cluster == nil || user == nil {
		return nil, fmt.Errorf("context %s names a cluster or a user that it does not have", contextName)
	}
	if user.Exec != nil || user.AuthProvider != nil {
		return nil, exit.Fail(exit.Usage, "user %s has its credentials from a program. %s", chosen.AuthInfo, withAccount)
	}
	r := &reduced{server: cluster.Server, user: chosen.AuthInfo}
	dir := filepath.Dir(file)
	for _, ref := range []struct {
		path *string
		into *[]byte
	}{
		{&cluster.CertificateAuthority, &cluster.CertificateAuthorityData},
		{&user.ClientCertificate, &user.ClientCertificateData},
		{&user.ClientKey, &user.ClientKeyData},
	} {
		if err := r.inline(dir, ref.path, ref.into); err != nil {
			return nil, err
		}
	}
	if user.Token == "" {
		var token []byte
		if err := r.inline(dir, &user.TokenFile, &token); err != nil {
			return nil, err
		}
		user.Token = strings.TrimSpace(string(token))
	}
	user.TokenFile = ""
	one := clientcmdapi.NewConfig()
	one.CurrentContext = contextName
	one.Contexts[contextName] = &clientcmdapi.Context{Cluster: chosen.Cluster, AuthInfo: chosen.AuthInfo}
	one.Clusters[chosen.Cluster], one.AuthInfos[chosen.AuthInfo] = cluster, user
	if r.data, err = clientcmd.Write(*one); err != nil {
		return nil, errors.New("cannot be written again as a kubeconfig")
	}
	return r, nil
}

// inline puts the content of a file in the place of its path.
func (r *reduced) inline(dir string, path *string, into *[]byte) error {
	name := *path
	if name == "" {
		return nil
	}
	*path = ""
	if len(*into) > 0 { // it counts more, as for kubectl
		return nil
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read what it names: %w", err)
	}
	*into = content
	r.files = append(r.files, name)
	return nil
}
